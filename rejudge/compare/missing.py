"""What a gate does about members that could not be compared."""

from __future__ import annotations

from rejudge.models.comparison import Coverage
from rejudge.models.gate import Gate, GateOutcome


def missing_stops(coverage: Coverage, gate: Gate) -> tuple[GateOutcome, str] | None:
    """The outcome where what is missing decides alone; None where the figures are to be judged."""
    if coverage.complete:
        return None
    if gate.missing == "fail":
        return "failed", f'{missing_words(coverage)}, and the gate says missing = "fail"'
    allowed = gate.allowed_missing
    if allowed is not None and _missing_share(coverage) > allowed:
        return "inconclusive", f"{missing_words(coverage)}, more than the {allowed:.1%} that the gate allows"
    return None


def missing_words(coverage: Coverage) -> str:
    """How much is missing, in words."""
    if coverage.scored < coverage.total:
        return f"{coverage.total - coverage.scored} of {coverage.total} sessions are missing"
    return f"{coverage.trials_total - coverage.trials_scored} of {coverage.trials_total} scorings are missing"


def _missing_share(coverage: Coverage) -> float:
    if coverage.scored < coverage.total:
        return 1 - coverage.share
    return 1 - coverage.trials_scored / max(1, coverage.trials_total)
