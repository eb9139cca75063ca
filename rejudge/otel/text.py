"""Hostile text and JSON made harmless: NUL, lone surrogates, NaN, endless nesting.

Databases refuse the first two, JSON the third, and parsers the fourth; none of them may cost a session.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import orjson

REPLACEMENT: Final = "\ufffd"
_ESCAPED_NUL: Final = re.compile(rb"\\u0000")
MAX_DEPTH: Final = 100
"""Levels of nesting that are kept as structure; what lies deeper is kept as JSON text."""


def clean_text(text: str) -> str:
    """The text with NUL and lone surrogates replaced by U+FFFD; paired surrogates are joined."""
    if "\0" in text:
        text = text.replace("\0", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clean_value(value: Any, depth: int = 0) -> Any:
    """A JSON value without NUL, lone surrogates, non-finite numbers or more than `MAX_DEPTH` levels."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return as_text(value)
        return {clean_text(str(key)): clean_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        if depth >= MAX_DEPTH:
            return as_text(value)
        return [clean_value(item, depth + 1) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def as_text(value: Any) -> str:
    """Compact JSON text of a value; a placeholder where it is nested too deep even for that."""
    try:
        return clean_text(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))
    except (RecursionError, ValueError):
        return "[nested too deep]"


def is_dirty(raw: bytes) -> bool:
    """True where JSON bytes may decode to NUL (surrogates make the fast parser fail by themselves)."""
    return _ESCAPED_NUL.search(raw) is not None  # a quarter faster than `in`, over every byte of every file


def parse_document(raw: bytes) -> Any:
    """The JSON value in some bytes, cleaned.

    Raises:
        ValueError: For what is no JSON.
        RecursionError: For what is nested deeper than the parser goes.
    """
    try:
        value = orjson.loads(raw)
    except ValueError:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
        return clean_value(value)
    return clean_value(value) if is_dirty(raw) else value


_STARTS: Final = frozenset('{["-0123456789tfn \t\r\n')


def parse_text(text: str) -> Any:
    """The JSON value that a text holds.

    Raises:
        ValueError: For a text that is no JSON, or nested too deep to be read.
    """
    if text[:1] not in _STARTS:
        raise ValueError("not JSON")
    try:
        value = orjson.loads(text)
    except ValueError:
        try:
            return clean_value(json.loads(text, strict=False))
        except RecursionError:
            raise ValueError("nested too deep") from None
    return clean_value(value) if "\\u0000" in text else value


def undo_json(value: Any) -> Any:
    """The value behind a text that holds a JSON object or list, else the value itself."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return parse_text(value)
        except ValueError:
            return value
    return value


def undo_json_fully(value: Any) -> Any:
    """As `undo_json`, also for JSON text that was quoted twice (``"\\"{…}\\""``)."""
    for _ in range(2):
        if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
            return value
        try:
            value = parse_text(value)
        except ValueError:
            return value
    return value
