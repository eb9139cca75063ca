"""``rejudge/trajectory-signals``: an agent that goes round in circles."""

from __future__ import annotations

from itertools import pairwise

from rejudge.evaluators.reading import has_failed, tool_calls, tool_identity
from rejudge.evaluators.repeating import MAX_PERIOD, MIN_PERIOD, MIN_REPETITIONS, short_cycles
from rejudge.evaluators.rows import evidence_of, figure, json_text, plural, shown
from rejudge.models import EvaluationResult, SessionView


def evaluate(session: SessionView) -> list[EvaluationResult]:
    """Identical neighbours, retries of failed calls, and short cycles among the tool calls."""
    calls = tool_calls(session)
    identities = [tool_identity(node) for node in calls]
    known = [node for node in calls if node.tool_name and node.inputs is not None]
    unknown = [node for node in calls if not node.tool_name or node.inputs is None]
    neighbours = [
        (first, second)
        for (first, one), (second, other) in pairwise(zip(calls, identities, strict=True))
        if one is not None and one == other
    ]
    retries = [(first, second) for first, second in neighbours if has_failed(first)]
    pairs = max(len(calls) - 1, 0)
    of_pairs = f"of {plural(pairs, 'neighbouring pair')} of tool calls"
    return [
        figure(
            "tool_identity_coverage",
            len(known),
            f"{len(known)} of {plural(len(calls), 'tool call')} with a name and inputs",
            evidence_of(session, unknown),
            maximum=len(calls),
        ),
        figure(
            "adjacent_identical_calls",
            len(neighbours),
            f"{len(neighbours)} {of_pairs} the same call",
            evidence_of(session, [second for _, second in neighbours]),
            maximum=pairs,
            lower=True,
        ),
        figure(
            "failed_identical_retries",
            len(retries),
            f"{len(retries)} {of_pairs} the same call again after it failed",
            evidence_of(session, [second for _, second in retries]),
            maximum=pairs,
            lower=True,
        ),
        _cycles(session, identities),
        json_text(
            "cycle_detector_bounds",
            {"min_period": MIN_PERIOD, "max_period": MAX_PERIOD, "min_repetitions": MIN_REPETITIONS},
            f"cycles of {MIN_PERIOD} to {MAX_PERIOD} calls, repeated {MIN_REPETITIONS} times or more",
            evidence_of(session),
        ),
    ]


def _cycles(view: SessionView, identities: list[tuple[str, bytes] | None]) -> EvaluationResult:
    calls = tool_calls(view)
    cycles = short_cycles(identities)
    stretches = [
        {"node": shown(calls[cycle.start].id), "period": cycle.period, "repetitions": cycle.repetitions}
        for cycle in cycles
    ]
    inside = [node for cycle in cycles for node in calls[cycle.start : cycle.start + cycle.length]]
    longest = max((cycle.length for cycle in cycles), default=0)
    explanation = f"{plural(len(cycles), 'short cycle')} in {plural(len(calls), 'tool call')}"
    if cycles:
        explanation += f", {len(inside)} calls inside, the longest {longest} calls"
    evidence = evidence_of(view, inside, cycles=stretches[:20])
    return figure("short_cycles", len(cycles), explanation, evidence, lower=True)
