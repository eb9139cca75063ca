"""What is asked of an evaluator's process, and what comes back: plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from rejudge.models.evaluation import ScoringStatus
from rejudge.models.wire import WireSession
from rejudge.scoring.version import EvaluatorSpec


@dataclass(frozen=True, slots=True)
class Assignment:
    """One evaluator version with its parameters, as a batch asks for it."""

    spec: EvaluatorSpec
    params: Mapping[str, Any] = field(default_factory=dict)
    """As given; defaults are the evaluator's own."""
    connection: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for this evaluator's process alone."""


@dataclass(frozen=True, slots=True)
class SessionJob:
    """One session and what is to be scored on it."""

    session: WireSession
    scorings: Sequence[tuple[str, int]]
    """Key (the caller's own, unique in one call) and position in the list of assignments."""


@dataclass(frozen=True, slots=True)
class ScoringOutcome:
    """How one scoring ended."""

    key: str
    status: ScoringStatus
    results: tuple[dict[str, Any], ...] = ()
    """The fields of each `EvaluationResult` that are set, as JSON: money is text. Empty unless ``scored``."""
    error: str | None = None
    """What happened, for the person who reads the row; with a traceback where it is a bug."""
    retryable: bool = False
    retry_after: float | None = None
    """Seconds the backend asked to wait."""
    duration_seconds: float = 0.0
    attempts: int = 1

    @property
    def cost(self) -> Decimal | None:
        """US dollars that its results say they cost together; None where none says."""
        amounts = [Decimal(result["cost"]) for result in self.results if result.get("cost") is not None]
        return sum(amounts, Decimal(0)) if amounts else None

    def tokens(self, kind: str) -> int | None:
        """Tokens that its results report together; None where none does.

        Args:
            kind: ``input_tokens`` or ``output_tokens``.
        """
        counts = [result[kind] for result in self.results if result.get(kind) is not None]
        return sum(counts) if counts else None
