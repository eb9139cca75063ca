"""``rejudge/latency``: how long a session took, from its start to its end."""

from __future__ import annotations

from rejudge.evaluators.clock import ends_before_start, interval, seconds_text
from rejudge.evaluators.rows import evidence_of, figure, unscored
from rejudge.models import EvaluationResult, SessionView


def evaluate(session: SessionView) -> EvaluationResult:
    """End minus start in seconds; unscored where either is missing or they contradict each other."""
    run = session.session
    times = {
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "ended_at": run.ended_at.isoformat() if run.ended_at else None,
    }
    evidence = evidence_of(session, (), **times)
    between = interval(run)
    if between is not None:
        duration = between[1] - between[0]
        explanation = f"{seconds_text(duration)} s from {times['started_at']} to {times['ended_at']}"
        return figure("latency_seconds", duration / 1_000_000, explanation, evidence, lower=True)
    if ends_before_start(run):
        why = f"the session ends at {times['ended_at']}, before it starts at {times['started_at']}"
    else:
        missing = " and ".join(name for name, moment in times.items() if moment is None)
        why = f"the session has no {missing}"
    return unscored("latency_seconds", why, evidence)
