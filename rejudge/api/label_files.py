"""Labels in files: one a line, CSV with a heading or JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any, Final

from rejudge.errors import UsageError

FIELDS: Final = ("session", "name", "score", "value", "passed", "explanation", "author")
"""Columns of a CSV file, fields of a JSON line."""

_MEND: Final = f"the fields are {', '.join(FIELDS)}"
_WORDS: Final = {"true": True, "false": False, "yes": True, "no": False}
_VERDICTS: Final = {**_WORDS, "1": True, "0": False}


def read_labels(path: Path) -> list[dict[str, Any]]:
    """The labels of a file, each with ``where`` it stands; nothing is stored.

    Raises:
        UsageError: For a file that cannot be read, or a line that is no label, with its number.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", mend="name a CSV or JSONL file in UTF-8") from error
    is_json = path.suffix.lower() in (".jsonl", ".ndjson", ".json") or text.lstrip().startswith("{")
    labels = list(_json_lines(path, text) if is_json else _csv_lines(path, text))
    if not labels:
        raise UsageError(f"{path} holds no label", mend="write one label a line")
    return labels


def _json_lines(path: Path, text: str) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise UsageError(f"{where}: no JSON: {error}", mend="write one JSON object a line") from error
        if not isinstance(fields, dict):
            raise UsageError(f"{where}: no JSON object", mend="write one JSON object a line")
        yield _checked(where, {name: value for name, value in fields.items() if value is not None})


def _csv_lines(path: Path, text: str) -> Iterator[dict[str, Any]]:
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row or any(value is None for value in row.values()):
                raise UsageError(f"{where}: not as many cells as the heading has", mend=_MEND)
            if any(row.values()):
                yield _checked(where, {name: _cell(name, value) for name, value in row.items() if value != ""})
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: {error}", mend="write CSV with a heading") from error


def _checked(where: str, fields: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        raise UsageError(f"{where}: there is no field {unknown[0]!r}", mend=_MEND)
    for name in ("session", "name"):
        if name not in fields:
            raise UsageError(f"{where}: no {name} given", mend=_MEND)
    return {**fields, "where": where}


def _cell(name: str, text: str) -> Any:
    word = text.strip().lower()
    if name == "passed":
        return _VERDICTS.get(word, text)
    if name == "score":
        if word in _WORDS:
            return _WORDS[word]
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text
