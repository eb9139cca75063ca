"""One statistic on both sides: rates or means, their difference, its bounds, tests, power and verdict."""

from __future__ import annotations

import numpy as np

from rejudge.compare.means import (
    FloatArray,
    bca_interval,
    cluster_sums,
    clustered_error,
    clustered_interval,
    sign_flip_test,
    t_interval,
    t_test,
)
from rejudge.compare.power import power_of
from rejudge.compare.proportions import (
    mcnemar_chi_squared,
    mcnemar_exact,
    mcnemar_mid_p,
    newcombe_paired,
    wilson,
)
from rejudge.compare.samples import Numbers, Sample
from rejudge.compare.verdicts import verdict
from rejudge.models.comparison import Bounds, Estimate, Figure, Power, Significance, Statistic
from rejudge.models.evaluation import Direction

BCA_FROM = 15
"""Pairs below which the bootstrap is unreliable and the t interval stands in."""


def figure(
    sample: Sample,
    statistic: Statistic,
    direction: Direction,
    *,
    margin: float = 0.0,
    alpha: float = 0.05,
    seed: int = 0,
) -> Figure:
    """One statistic, compared."""
    numbers, binary = sample.scored, sample.binary
    difference = difference_of(numbers, binary=binary, alpha=alpha, seed=seed)
    bounds = _bounds(sample, alpha=alpha, seed=seed)
    return Figure(
        statistic=statistic,
        direction=direction,
        n=difference.n,
        coverage=sample.coverage,
        baseline=_side(numbers.baseline, numbers, binary=binary, alpha=alpha),
        replay=_side(numbers.replay, numbers, binary=binary, alpha=alpha),
        difference=difference,
        bounds=bounds,
        tests=_tests(numbers, binary=binary, seed=seed),
        power=_power(numbers, binary=binary, margin=margin, alpha=alpha),
        verdict=verdict(
            difference,
            bounds,
            direction,
            margin=margin,
            complete=sample.coverage.complete,
            units=numbers.units,
        ),
    )


def difference_of(numbers: Numbers, *, binary: bool, alpha: float = 0.05, seed: int = 0) -> Estimate:
    """The mean paired difference with the interval that suits its kind and n.

    Clusters: cluster-robust t. Rates: Newcombe's paired method 10. Means: BCa bootstrap; t below 15 pairs.
    """
    if numbers.clustered:
        return clustered_interval(numbers.differences, numbers.clusters, alpha=alpha)
    if binary:
        both, gained, lost, neither = table_of(numbers)
        return newcombe_paired(both, gained, lost, neither, alpha=alpha)
    if numbers.differences.size < BCA_FROM:
        return t_interval(numbers.differences, alpha=alpha)
    return _mirrored_bca(numbers.differences, alpha=alpha, seed=seed)


def table_of(numbers: Numbers) -> tuple[int, int, int, int]:
    """Of binary pairs: both, replay only (gained), baseline only (lost), neither."""
    before, after = numbers.baseline == 1, numbers.replay == 1
    return (
        int(np.sum(before & after)),
        int(np.sum(~before & after)),
        int(np.sum(before & ~after)),
        int(np.sum(~before & ~after)),
    )


def _mirrored_bca(differences: FloatArray, *, alpha: float, seed: int) -> Estimate:
    """The bootstrap, drawn so that the order of pairs is nothing to it and swapping the sides mirrors it."""
    up, down = np.sort(differences), np.sort(-differences)
    apart = np.flatnonzero(up != down)
    if apart.size == 0 or up[apart[0]] > down[apart[0]]:
        return bca_interval(up, alpha=alpha, seed=seed)
    mirror = bca_interval(down, alpha=alpha, seed=seed)
    assert mirror.value is not None and mirror.low is not None and mirror.high is not None
    return mirror.model_copy(update={"value": -mirror.value, "low": -mirror.high, "high": -mirror.low})


def _side(values: FloatArray, numbers: Numbers, *, binary: bool, alpha: float) -> Estimate:
    if numbers.clustered:
        return clustered_interval(values, numbers.clusters, alpha=alpha)
    if binary:
        return wilson(float(values.sum()), int(values.size), alpha=alpha)
    return t_interval(values, alpha=alpha)


def _bounds(sample: Sample, *, alpha: float, seed: int) -> Bounds:
    low, high = sample.lowest, sample.highest
    if low is None or high is None or not low.clusters:
        return Bounds()
    ends: dict[str, Estimate] = {}
    if not sample.coverage.complete:
        ends = {
            "lowest": difference_of(low, binary=sample.binary, alpha=alpha, seed=seed),
            "highest": difference_of(high, binary=sample.binary, alpha=alpha, seed=seed),
            "replay_lowest": _side(low.replay, low, binary=sample.binary, alpha=alpha),
            "replay_highest": _side(high.replay, high, binary=sample.binary, alpha=alpha),
        }
    return Bounds(
        baseline_low=float(high.baseline.mean()),
        baseline_high=float(low.baseline.mean()),
        replay_low=float(low.replay.mean()),
        replay_high=float(high.replay.mean()),
        difference_low=float(low.differences.mean()),
        difference_high=float(high.differences.mean()),
        **ends,
    )


def _tests(numbers: Numbers, *, binary: bool, seed: int) -> tuple[Significance, ...]:
    if numbers.differences.size == 0:
        return ()
    if binary and not numbers.clustered:
        _, gained, lost, _ = table_of(numbers)
        tests = (mcnemar_exact, mcnemar_mid_p, mcnemar_chi_squared)
        return tuple(test(gained, lost) for test in tests)
    if numbers.clustered:
        sums = cluster_sums(numbers.differences, numbers.clusters)
        flipped = sign_flip_test(sums, seed=seed)
        return (flipped.model_copy(update={"method": flipped.method + ", by cluster"}),)
    flipped = sign_flip_test(numbers.differences, seed=seed)
    return (flipped, t_test(numbers.differences)) if numbers.differences.std() > 0 else (flipped,)


def _power(numbers: Numbers, *, binary: bool, margin: float, alpha: float) -> Power | None:
    differences = numbers.differences
    if differences.size < 2:
        return None
    variance = _variance(numbers, binary=binary)
    return power_of(variance, int(differences.size), float(differences.mean()), margin=margin, alpha=alpha)


def _variance(numbers: Numbers, *, binary: bool) -> float:
    """Of one paired difference; dependence within clusters is counted in."""
    if numbers.clustered:
        return clustered_error(numbers.differences, numbers.clusters) ** 2 * int(numbers.differences.size)
    if binary:
        return float(np.mean(numbers.differences**2))  # the discordance, as where nothing differs
    return float(numbers.differences.var(ddof=1))
