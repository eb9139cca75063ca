"""Means: t intervals, the bias-corrected bootstrap, clusters, and the sign-flip test."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from math import isfinite, sqrt
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from rejudge.models.comparison import Estimate, Significance

FloatArray: TypeAlias = npt.NDArray[np.float64]

DRAWS: Final = 9_999
"""Bootstrap resamples and sampled sign flips."""

EXACT_FLIPS: Final = 20
"""Differences other than zero up to which every sign pattern is enumerated."""

_BLOCK: Final = 4_000_000
"""Numbers held at once while resampling (32 MB)."""


def t_interval(values: Sequence[float] | FloatArray, *, alpha: float = 0.05) -> Estimate:
    """A mean with Student's t interval; no interval below two values."""
    data = np.asarray(values, dtype=np.float64)
    n = int(data.size)
    if n < 2:
        value = float(data[0]) if n else None
        return Estimate(value=value, level=1 - alpha, method="t", n=n)
    mean, error = _mean(data), float(data.std(ddof=1)) / sqrt(n)
    return _around(mean, error * float(stdtrit(n - 1, 1 - alpha / 2)), alpha=alpha, method="t", n=n)


def t_test(values: Sequence[float] | FloatArray) -> Significance:
    """Student's one-sample t test of a mean of zero, two-sided."""
    data = np.asarray(values, dtype=np.float64)
    n = int(data.size)
    spread = float(data.std(ddof=1)) if n > 1 else 0.0
    if spread == 0.0:
        moved = n > 1 and bool(np.any(data))
        return Significance(method="t", p_value=0.0 if moved else 1.0, n=n)
    statistic = _mean(data) / (spread / sqrt(n))
    return Significance(method="t", p_value=2 * float(stdtr(n - 1, -abs(statistic))), statistic=statistic, n=n)


def bca_interval(
    values: Sequence[float] | FloatArray, *, alpha: float = 0.05, seed: int = 0, draws: int = DRAWS
) -> Estimate:
    """A mean with its bias-corrected and accelerated bootstrap interval (Efron 1987), by scipy, in blocks.

    Where the bootstrap is degenerate (no spread to resample), the t interval, and ``method`` says so.
    """
    from scipy.stats import bootstrap  # half a second of import, and only here

    data = np.asarray(values, dtype=np.float64)
    if data.size < 2 or bool(np.all(data == data[0])):
        return t_interval(data, alpha=alpha)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns where it gives NaN, which is looked for below
        result = bootstrap(
            (data,),
            np.mean,
            n_resamples=draws,
            batch=max(1, _BLOCK // data.size),
            confidence_level=1 - alpha,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = float(result.confidence_interval.low), float(result.confidence_interval.high)
    if not (isfinite(low) and isfinite(high)):
        return t_interval(data, alpha=alpha)
    return Estimate(value=_mean(data), low=low, high=high, level=1 - alpha, method="BCa bootstrap", n=int(data.size))


def clustered_interval(
    values: Sequence[float] | FloatArray, clusters: Sequence[Hashable], *, alpha: float = 0.05
) -> Estimate:
    """A mean with a t interval on its cluster-robust standard error, with (clusters - 1) degrees of freedom.

    Miller (2024), "Adding error bars to evals", arXiv 2411.00640, equation 4.
    """
    data = np.asarray(values, dtype=np.float64)
    count = len(set(clusters))
    if count < 2:
        value = _mean(data) if data.size else None
        return Estimate(value=value, level=1 - alpha, method="cluster-robust t", n=int(data.size))
    half = clustered_error(data, clusters) * float(stdtrit(count - 1, 1 - alpha / 2))
    return _around(_mean(data), half, alpha=alpha, method="cluster-robust t", n=int(data.size))


def clustered_error(values: Sequence[float] | FloatArray, clusters: Sequence[Hashable]) -> float:
    """The standard error of a mean whose values are dependent within clusters."""
    data = np.asarray(values, dtype=np.float64)
    sums = cluster_sums(data - data.mean(), clusters)
    return float(np.sqrt(np.sum(sums**2))) / int(data.size)


def cluster_sums(values: FloatArray, clusters: Sequence[Hashable]) -> FloatArray:
    """The sum of the values of each cluster, in order of first appearance."""
    order: dict[Hashable, int] = {}
    index = [order.setdefault(cluster, len(order)) for cluster in clusters]
    return np.bincount(index, weights=values, minlength=len(order)).astype(np.float64)


def sign_flip_test(differences: Sequence[float] | FloatArray, *, seed: int = 0, draws: int = DRAWS) -> Significance:
    """Whether paired differences centre on zero: the share of sign patterns with a sum at least as far from it.

    Every pattern up to 20 differences other than zero; sampled above, counting the observed one (Phipson and
    Smyth 2010), so that p is never 0. The order of the differences is of no consequence.
    """
    data = np.asarray(differences, dtype=np.float64)
    sizes = np.sort(np.abs(data[data != 0]))
    n = int(data.size)
    # Sums of decimals differ in their last bits by the order of adding; equal must count as equal.
    bar = abs(float(data.sum())) - 1e-9 * float(sizes.sum())
    if sizes.size <= EXACT_FLIPS:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate((sums + size, sums - size))
        return Significance(method="sign flip, exact", p_value=float(np.mean(np.abs(sums) >= bar)), n=n)
    hits = sum(int(np.sum(np.abs(block) >= bar)) for block in _flipped_sums(sizes, seed=seed, draws=draws))
    return Significance(method="sign flip, sampled", p_value=(hits + 1) / (draws + 1), n=n)


def _flipped_sums(sizes: FloatArray, *, seed: int, draws: int) -> list[FloatArray]:
    rng = np.random.default_rng(seed)
    blocks: list[FloatArray] = []
    rows = max(1, _BLOCK // sizes.size)
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        bits = np.unpackbits(np.frombuffer(rng.bytes(count * ((sizes.size + 7) // 8)), dtype=np.uint8))
        signs = bits.reshape(count, -1)[:, : sizes.size].astype(np.float64)
        blocks.append(2 * (signs @ sizes) - sizes.sum())
    return blocks


def _mean(data: FloatArray) -> float:
    return float(data.mean())


def _around(mean: float, half: float, *, alpha: float, method: str, n: int) -> Estimate:
    return Estimate(value=mean, low=mean - half, high=mean + half, level=1 - alpha, method=method, n=n)
