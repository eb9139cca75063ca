"""Canonical JSON: the one text form behind digests, tape keys and exact comparison."""

from __future__ import annotations

import hashlib
import json
from typing import Any, TypeAlias

import orjson

JsonValue: TypeAlias = Any
"""What a recorded payload can be: None, bool, int, float, str, list or dict of those. Never validated:
recorded values are looked at, not trusted."""


def canonical_bytes(value: object) -> bytes:
    """The canonical JSON of a value: sorted keys, compact, UTF-8; 1 and 1.0 differ.

    Raises:
        ValueError: For NaN and infinities, and for what JSON cannot hold.
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return _canonical_slowly(value)
    # orjson writes NaN as null: where a null stands, only the slow way can tell them apart.
    if b"null" in text:
        return _canonical_slowly(value)
    return text


def canonical_text(value: object) -> str:
    """The canonical JSON of a value as text (see `canonical_bytes`)."""
    return canonical_bytes(value).decode()


def digest_of(value: object) -> str:
    """Hex SHA-256 over the canonical JSON of a value."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def _canonical_slowly(value: object) -> bytes:
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
        return text.encode("utf-8", "surrogatepass")
    except (TypeError, RecursionError) as error:
        raise ValueError(f"not a JSON value: {error}") from error
