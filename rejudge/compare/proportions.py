"""Rates: their intervals, the paired difference of two, and the tests of it."""

from __future__ import annotations

from math import sqrt

from scipy.special import bdtr, betaincinv, binom, chdtrc, ndtri

from rejudge.models.comparison import Estimate, Significance


def wilson(successes: float, n: int, *, alpha: float = 0.05) -> Estimate:
    """A rate with its Wilson score interval (Wilson 1927).

    Example:
        >>> rate = wilson(8, 10)
        >>> round(rate.low, 6), round(rate.high, 6)
        (0.490162, 0.943318)
    """
    if n == 0:
        return Estimate(value=None, level=1 - alpha, method="Wilson", n=0)
    z = float(ndtri(1 - alpha / 2))
    rate = successes / n
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At the ends the bound is the end itself; rounding must not push it past.
    low = 0.0 if successes <= 0 else max(0.0, middle - half)
    high = 1.0 if successes >= n else min(1.0, middle + half)
    return Estimate(value=rate, low=low, high=high, level=1 - alpha, method="Wilson", n=n)


def clopper_pearson(successes: int, n: int, *, alpha: float = 0.05) -> Estimate:
    """A rate with its exact interval (Clopper and Pearson 1934)."""
    if n == 0:
        return Estimate(value=None, level=1 - alpha, method="Clopper-Pearson", n=0)
    low = 0.0 if successes == 0 else float(betaincinv(successes, n - successes + 1, alpha / 2))
    high = 1.0 if successes == n else float(betaincinv(successes + 1, n - successes, 1 - alpha / 2))
    return Estimate(value=successes / n, low=low, high=high, level=1 - alpha, method="Clopper-Pearson", n=n)


def newcombe_paired(both: int, first_only: int, second_only: int, neither: int, *, alpha: float = 0.05) -> Estimate:
    """The difference of two paired rates, first minus second, with Newcombe's interval.

    Method 10 of Newcombe (1998), Statistics in Medicine 17, 2635-2650: two Wilson intervals joined by a phi
    that is corrected for continuity.
    """
    n = both + first_only + second_only + neither
    if n == 0:
        return Estimate(value=None, level=1 - alpha, method="Newcombe paired", n=0)
    first, second = wilson(both + first_only, n, alpha=alpha), wilson(both + second_only, n, alpha=alpha)
    phi = _corrected_phi(both, first_only, second_only, neither)
    difference = (first_only - second_only) / n
    below = _joined(_reach_down(first), _reach_up(second), phi)
    above = _joined(_reach_up(first), _reach_down(second), phi)
    low, high = max(-1.0, difference - below), min(1.0, difference + above)
    return Estimate(value=difference, low=low, high=high, level=1 - alpha, method="Newcombe paired", n=n)


def mcnemar_exact(gained: int, lost: int) -> Significance:
    """McNemar's test of the discordant pairs, exact binomial, two-sided."""
    n = gained + lost
    p_value = 1.0 if gained == lost else min(1.0, 2 * float(bdtr(min(gained, lost), n, 0.5)))
    return Significance(method="McNemar exact", p_value=p_value, n=n)


def mcnemar_mid_p(gained: int, lost: int) -> Significance:
    """McNemar's test with the mid-p correction (Fagerland, Lydersen and Laake 2013)."""
    n = gained + lost
    exact = 2 * float(bdtr(min(gained, lost), n, 0.5)) if n else 1.0
    point = float(binom(n, gained)) * 0.5**n if n < 1000 else _point(n, gained)
    return Significance(method="McNemar mid-p", p_value=min(1.0, max(0.0, exact - point)) if n else 1.0, n=n)


def mcnemar_chi_squared(gained: int, lost: int) -> Significance:
    """McNemar's asymptotic test (McNemar 1947), without continuity correction."""
    n = gained + lost
    statistic = (gained - lost) ** 2 / n if n else 0.0
    return Significance(method="McNemar chi-squared", p_value=float(chdtrc(1, statistic)), statistic=statistic, n=n)


def sign_test(first: int, second: int) -> Significance:
    """Whether one of two exclusive events is the more frequent, exact binomial, two-sided."""
    return mcnemar_exact(first, second).model_copy(update={"method": "sign test"})


def _point(n: int, k: int) -> float:
    """The binomial probability at one half, where the coefficient itself would overflow."""
    return float(bdtr(k, n, 0.5) - (bdtr(k - 1, n, 0.5) if k else 0.0))


def _corrected_phi(both: int, first_only: int, second_only: int, neither: int) -> float:
    n = both + first_only + second_only + neither
    margins = (both + first_only) * (second_only + neither) * (both + second_only) * (first_only + neither)
    if margins == 0:
        return 0.0
    covariance = both * neither - first_only * second_only
    corrected = covariance if covariance < 0 else max(0.0, covariance - n / 2)
    return float(corrected / sqrt(margins))


def _joined(one: float, other: float, phi: float) -> float:
    return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _reach_down(rate: Estimate) -> float:
    assert rate.value is not None and rate.low is not None
    return rate.value - rate.low


def _reach_up(rate: Estimate) -> float:
    assert rate.value is not None and rate.high is not None
    return rate.high - rate.value
