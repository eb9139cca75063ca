"""Checking a report: its figures against those that the stored rows give."""

from __future__ import annotations

from collections.abc import Iterable

from rejudge.compare.comparison import compare
from rejudge.models.comparison import Comparison, MetricComparison, Observation


def recheck(told: Comparison, observations: Iterable[Observation]) -> tuple[str, ...]:
    """The keys of the metrics whose figures, ids included, are not what the rows give; empty: all are equal.

    Args:
        told: What a report says.
        observations: The stored rows of the same run.
    """
    again = compare(
        observations,
        told.members,
        margin=told.margin,
        margins=told.margins,
        gating=told.gating,
        alpha=told.alpha,
        seed=told.seed,
    )
    said, found = _by_key(told), _by_key(again)
    return tuple(sorted(key for key in said.keys() | found.keys() if said.get(key) != found.get(key)))


def _by_key(comparison: Comparison) -> dict[str, MetricComparison]:
    # A noise floor comes from other runs than this one's rows.
    return {one.metric.key: one.model_copy(update={"noise": None}) for one in comparison.metrics}
