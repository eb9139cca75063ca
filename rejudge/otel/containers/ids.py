"""Trace and span ids in the spellings of the wire: hex, base64, ``0x``-prefixed."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from rejudge.otel.refusal import Malformed

_HEX = frozenset("0123456789abcdef")


def hex_id(value: Any, width: int) -> str:
    """An id as lower-case hex of ``width`` characters (32 for traces, 16 for spans).

    Raises:
        Malformed: For another length, other characters, or nothing but zeros.
    """
    if isinstance(value, str):
        text = value
        if len(text) == width and _HEX.issuperset(text):
            if text.strip("0"):
                return text
            raise Malformed("an id of nothing but zeros")
        return _unusual_id(text, width)
    if isinstance(value, bytes):
        if len(value) * 2 == width and any(value):
            return value.hex()
        raise Malformed(f"an id of {len(value)} bytes where {width // 2} belong")
    raise Malformed(f"no id where one of {width} hex digits belongs")


def optional_hex_id(value: Any, width: int) -> str | None:
    """As `hex_id`; None for what means "no parent": absent, empty, or zeros."""
    if not value:
        return None
    if isinstance(value, str) and not value.strip("0x"):
        return None
    return hex_id(value, width)


def _unusual_id(text: str, width: int) -> str:
    lowered = text.lower().removeprefix("0x")
    if len(lowered) == width and _HEX.issuperset(lowered):
        if lowered.strip("0"):
            return lowered
        raise Malformed("an id of nothing but zeros")
    raw_length = width // 2
    if len(text) in ((raw_length + 2) // 3 * 4, -(-raw_length * 4 // 3)):
        padded = text + "=" * (-len(text) % 4)
        try:
            raw = base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        if len(raw) == raw_length and any(raw):
            return raw.hex()
    raise Malformed(f"the id {text[:64]!r} is not one of {width} hex digits")
