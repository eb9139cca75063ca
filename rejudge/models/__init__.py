"""The public value types: frozen, no I/O, no SQL."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejudge.models.canonical import JsonValue, canonical_bytes, canonical_text, digest_of
    from rejudge.models.evaluation import EvaluationResult, ScoringStatus
    from rejudge.models.session import TERMINAL, Node, Session, SessionView

# Imported on first use: a program that decorates its tools imports this package, and needs no pydantic for it.
_HOMES = {
    "TERMINAL": "session",
    "EvaluationResult": "evaluation",
    "JsonValue": "canonical",
    "Node": "session",
    "ScoringStatus": "evaluation",
    "Session": "session",
    "SessionView": "session",
    "canonical_bytes": "canonical",
    "canonical_text": "canonical",
    "digest_of": "canonical",
}

__all__ = [
    "TERMINAL",
    "EvaluationResult",
    "JsonValue",
    "Node",
    "ScoringStatus",
    "Session",
    "SessionView",
    "canonical_bytes",
    "canonical_text",
    "digest_of",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    return value
