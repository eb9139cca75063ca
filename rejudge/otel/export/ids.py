"""Trace and span ids for what has none of its own."""

from __future__ import annotations

import hashlib
import re
from typing import Final

_TRACE: Final = re.compile(r"[0-9a-f]{32}")
_SPAN: Final = re.compile(r"[0-9a-f]{16}")


def trace_id(own: str | None, *, otherwise: str) -> str:
    """The trace id itself where it is one; else one made of the other text, always the same."""
    if own is not None and _TRACE.fullmatch(own) and own.strip("0"):
        return own
    return _digest(otherwise)[:32]


def span_id(node_id: str) -> str:
    """The span id that a node was read from; else one made of the node's id, always the same."""
    own = node_id.rpartition(":")[2]
    if _SPAN.fullmatch(own) and own.strip("0"):
        return own
    return _digest(node_id)[:16]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
