"""The noise floor: how often verdicts flip when nothing was changed."""

from __future__ import annotations

from math import sqrt

from rejudge.compare.means import t_interval
from rejudge.compare.proportions import newcombe_paired, wilson
from rejudge.errors import UsageError
from rejudge.models.comparison import Comparison, Estimate, MetricComparison, NoiseFloor


def noise_floor(
    change: MetricComparison,
    unchanged: MetricComparison,
    judge: MetricComparison | None = None,
    *,
    alpha: float = 0.05,
) -> NoiseFloor:
    """How far the flips under a change exceed those of no change.

    Args:
        change: Baseline against the changed replay: f_AB.
        unchanged: One unchanged replay against another: f_AA.
        judge: One replay's scorings against a second judging of it: f_J.
        alpha: One minus the level of the intervals.

    Raises:
        UsageError: Where the metrics are not the same one, or nothing in them can flip.
    """
    if any(one is not None and one.metric != change.metric for one in (unchanged, judge)):
        raise UsageError(
            f"a noise floor for {change.metric.key} cannot come from {unchanged.metric.key}",
            mend="compare the unchanged replays with the same evaluator version and params",
        )
    before, after = _flip_shares(unchanged), _flip_shares(change)
    if not before or not after:
        raise UsageError(
            f"{change.metric.key} has nothing that can flip", mend="a noise floor needs verdicts or labels"
        )
    return NoiseFloor(
        unchanged=_share(before, alpha),
        judge=None if judge is None else _share(_flip_shares(judge), alpha),
        change=_share(after, alpha),
        excess=_excess(before, after, alpha),
    )


def with_noise(comparison: Comparison, unchanged: Comparison, judge: Comparison | None = None) -> Comparison:
    """The comparison with a noise floor on every metric that both have and that can flip."""
    return comparison.model_copy(
        update={"metrics": tuple(_with_floor(one, unchanged, judge, comparison.alpha) for one in comparison.metrics)}
    )


def expected_flips(noise: float) -> float:
    """f_AA where each verdict is wrong with that probability, independently: 2p(1-p)."""
    return 2 * noise * (1 - noise)


def _with_floor(
    metric: MetricComparison, unchanged: Comparison, judge: Comparison | None, alpha: float
) -> MetricComparison:
    floor = unchanged.metric(metric.metric.key)
    if floor is None or not (_flip_shares(floor) and _flip_shares(metric)):
        return metric
    judged = None if judge is None else judge.metric(metric.metric.key)
    return metric.model_copy(update={"noise": noise_floor(metric, floor, judged, alpha=alpha)})


def _flip_shares(metric: MetricComparison) -> dict[str, float]:
    """Of each member that can flip, the share of its trials that did."""
    flips: dict[str, int] = {}
    for flip in metric.flips:
        flips[flip.member] = flips.get(flip.member, 0) + 1
    trials = {
        pair.member: max(len(pair.replay_verdicts), len(pair.replay_scores), 1)
        for pair in metric.pairs
        if pair.scored and (metric.kind != "mean" or (pair.baseline_verdicts and pair.replay_verdicts))
    }
    return {member: flips.get(member, 0) / count for member, count in trials.items()}


def _share(shares: dict[str, float], alpha: float) -> Estimate:
    values = list(shares.values())
    if all(value in (0.0, 1.0) for value in values):
        return wilson(sum(values), len(values), alpha=alpha)
    return t_interval(values, alpha=alpha)


def _excess(before: dict[str, float], after: dict[str, float], alpha: float) -> Estimate:
    """f_AB - f_AA: paired over the members that both have, else over two independent groups."""
    common = sorted(before.keys() & after.keys())
    pairs = [(after[member], before[member]) for member in common]
    if not pairs:
        return _independent(_share(after, alpha), _share(before, alpha), alpha)
    if all(value in (0.0, 1.0) for pair in pairs for value in pair):
        counts = [pairs.count(kind) for kind in ((1, 1), (1, 0), (0, 1), (0, 0))]
        return newcombe_paired(*counts, alpha=alpha)
    return t_interval([change - floor for change, floor in pairs], alpha=alpha)


def _independent(first: Estimate, second: Estimate, alpha: float) -> Estimate:
    """Newcombe (1998), Statistics in Medicine 17, 873-890, method 10."""
    if None in (first.low, first.high, second.low, second.high):
        return Estimate(value=None, level=1 - alpha, method="Newcombe", n=0)
    assert first.value is not None and first.low is not None and first.high is not None
    assert second.value is not None and second.low is not None and second.high is not None
    value = first.value - second.value
    below = sqrt((first.value - first.low) ** 2 + (second.high - second.value) ** 2)
    above = sqrt((first.high - first.value) ** 2 + (second.value - second.low) ** 2)
    n = min(first.n, second.n)
    return Estimate(value=value, low=value - below, high=value + above, level=1 - alpha, method="Newcombe", n=n)
