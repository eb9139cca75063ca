"""``rejudge/timing-profile``: where a session's time went."""

from __future__ import annotations

import heapq
from typing import Annotated

from pydantic import Field

from rejudge.evaluators.clock import ends_before_start, interval, seconds_text
from rejudge.evaluators.overlaps import overlapping_pairs
from rejudge.evaluators.rows import evidence_of, figure, json_text, plural, text
from rejudge.models import EvaluationResult, Node, SessionView


def evaluate(
    session: SessionView, *, evidence_limit: Annotated[int, Field(ge=1, le=100)] = 20
) -> list[EvaluationResult]:
    """The wall clock, the slowest nodes, and how much ran at once.

    Args:
        session: The session.
        evidence_limit: How many of the slowest nodes are listed.
    """
    total, intervals = len(session.nodes), [interval(node) for node in session.nodes]
    timed = [(node, between) for node, between in zip(session.nodes, intervals, strict=True) if between is not None]
    untimed = [node for node, between in zip(session.nodes, intervals, strict=True) if between is None]
    invalid = [node for node in untimed if ends_before_start(node)]
    pairs, possible = overlapping_pairs([between for _, between in timed]), len(timed) * (len(timed) - 1) // 2
    return [
        _wall_clock(session),
        figure(
            "node_duration_coverage",
            len(timed),
            f"{len(timed)} of {plural(total, 'node')} with a valid start and end",
            evidence_of(session, untimed),
            maximum=total,
        ),
        _slowest(session, timed, evidence_limit),
        figure(
            "overlapping_intervals",
            pairs,
            f"{pairs} of {plural(possible, 'pair')} of nodes share time",
            evidence_of(session, (), intervals=len(timed)),
            maximum=possible,
        ),
        figure(
            "invalid_intervals",
            len(invalid),
            f"{len(invalid)} of {plural(total, 'node')} end before they start",
            evidence_of(session, invalid),
            maximum=total,
            lower=True,
        ),
    ]


def _wall_clock(view: SessionView) -> EvaluationResult:
    between = interval(view.session)
    value = "unavailable" if between is None else seconds_text(between[1] - between[0])
    explanation = "the session has no valid start and end" if between is None else f"{value} s from start to end"
    return text("wall_clock_duration_seconds", value, explanation, evidence_of(view))


def _slowest(view: SessionView, timed: list[tuple[Node, tuple[int, int]]], limit: int) -> EvaluationResult:
    durations = [(end - start, -node.index, node) for node, (start, end) in timed]
    longest = heapq.nlargest(limit, durations, key=lambda entry: entry[:2])
    value = {
        "nodes": [{"index": node.index, "duration_seconds": duration / 1_000_000} for duration, _, node in longest],
        "total": len(timed),
        "truncated": len(timed) > limit,
    }
    explanation = f"the {len(longest)} slowest of {plural(len(timed), 'timed node')}"
    if longest:
        explanation += f"; the slowest took {seconds_text(longest[0][0])} s"
    return json_text("slowest_nodes", value, explanation, evidence_of(view, [node for _, _, node in longest]))
