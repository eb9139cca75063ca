"""A comparison as JSON: what ``--json`` prints."""

from __future__ import annotations

from rejudge.models.canonical import JsonValue
from rejudge.models.comparison import Comparison, MetricComparison
from rejudge.report.wording import by_urgency, headline, overall


def document(comparison: Comparison, *, pairs: bool = True) -> dict[str, JsonValue]:
    """Every figure with its ids; ``pairs`` False leaves the members of each metric out."""
    left_out = None if pairs else {"pairs"}
    return {
        "verdict": overall(comparison),
        "headline": headline(comparison),
        "members": len(comparison.members),
        "alpha": comparison.alpha,
        "margin": comparison.margin,
        "seed": comparison.seed,
        "digest": comparison.digest,
        "stopping": None if comparison.stopping is None else comparison.stopping.model_dump(mode="json"),
        "metrics": [_metric(metric, left_out) for metric in by_urgency(comparison)],
        "count": len(comparison.metrics),
    }


def _metric(metric: MetricComparison, left_out: set[str] | None) -> JsonValue:
    return {"key": metric.metric.key, **metric.model_dump(mode="json", exclude=left_out)}
