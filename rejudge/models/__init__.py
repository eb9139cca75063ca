"""The public value types: frozen, no I/O, no SQL."""

from rejudge.models.canonical import JsonValue, canonical_bytes, canonical_text, digest_of
from rejudge.models.evaluation import EvaluationResult, ScoringStatus
from rejudge.models.session import TERMINAL, Node, Session, SessionView

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
