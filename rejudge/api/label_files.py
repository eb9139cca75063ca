"""Labels in files: one a line, CSV with a heading or JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any, Final

from rejudge.errors import UsageError

FIELDS: Final = ("session", "name", "score", "value", "passed", "explanation", "author")
"""Columns of a CSV file, fields of a JSON line."""

_MEND: Final = f"the fields are {', '.join(FIELDS)}"
_WORDS: Final = {"true": True, "false": False, "yes": True, "no": False}
_VERDICTS: Final = {**_WORDS, "1": True, "0": False}


@dataclass(frozen=True, slots=True)
class WrongLine:
    """What is wrong with something that should be a label."""

    where: str
    reason: str
    mend: str | None = None


def read_labels(path: Path) -> list[dict[str, Any] | WrongLine]:
    """What the lines of a file say, each with ``where`` it stands, or what is wrong with it; nothing is stored.

    Raises:
        UsageError: For a file that cannot be read, or holds nothing.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8: {error}", mend="save it as UTF-8") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", mend="name a CSV or JSONL file") from error
    is_json = path.suffix.lower() in (".jsonl", ".ndjson", ".json") or text.lstrip().startswith("{")
    labels = list(_json_lines(path, text) if is_json else _csv_lines(path, text))
    if not labels:
        raise UsageError(f"{path} holds no label", mend="write one label a line")
    return labels


def _json_lines(path: Path, text: str) -> Iterator[dict[str, Any] | WrongLine]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            fields = json.loads(line)
        except ValueError as error:
            yield WrongLine(where, f"no JSON: {error}", "write one JSON object a line")
            continue
        if isinstance(fields, dict):
            yield _checked(where, {name: value for name, value in fields.items() if value is not None})
        else:
            yield WrongLine(where, "no JSON object", "write one JSON object a line")


def _csv_lines(path: Path, text: str) -> Iterator[dict[str, Any] | WrongLine]:
    reader = csv.DictReader(StringIO(text, newline=""), strict=True)
    try:
        unknown = [name for name in reader.fieldnames or () if name not in FIELDS]
        if unknown:  # once, not for every line
            yield WrongLine(f"{path}:1", f"there is no field {unknown[0]!r}", _MEND)
            return
        for row in reader:
            where = f"{path}:{reader.line_num}"
            if None in row or any(value is None for value in row.values()):
                yield WrongLine(where, "not as many cells as the heading has", _MEND)
            elif any(row.values()):
                yield _checked(where, {name: _cell(name, value) for name, value in row.items() if value != ""})
    except csv.Error as error:
        yield WrongLine(f"{path}:{reader.line_num}", str(error), "write CSV with a heading")


def _checked(where: str, fields: dict[str, Any]) -> dict[str, Any] | WrongLine:
    unknown = [name for name in fields if name not in FIELDS]
    if unknown:
        return WrongLine(where, f"there is no field {unknown[0]!r}", _MEND)
    absent = [name for name in ("session", "name") if name not in fields]
    return WrongLine(where, f"no {absent[0]} given", _MEND) if absent else {**fields, "where": where}


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
