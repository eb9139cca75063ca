"""What a number of sessions can show, and how many a difference takes."""

from __future__ import annotations

from math import ceil, sqrt

from scipy.special import ndtri

from rejudge.models.comparison import Power

POWER = 0.8
"""The chance of finding an effect that is there."""


def minimum_detectable_effect(variance: float, n: int, *, alpha: float = 0.05, power: float = POWER) -> float:
    """The smallest difference that n pairs find: Miller (2024), arXiv 2411.00640, section 5.

    Args:
        variance: Of the paired differences; for a pass rate, the share of discordant pairs.
    """
    return _reach(alpha, power) * sqrt(variance / n)


def required_n(variance: float, difference: float, *, alpha: float = 0.05, power: float = POWER) -> int:
    """The pairs it takes to find a difference: Miller (2024), arXiv 2411.00640, equation 9.

    Example:
        >>> required_n(1 / 9, 0.03)
        969
    """
    # A ratio that is whole but for rounding must not cost one more.
    return max(1, ceil(_reach(alpha, power) ** 2 * variance / difference**2 - 1e-9))


def power_of(variance: float, n: int, difference: float, *, margin: float = 0.0, alpha: float = 0.05) -> Power:
    """What n pairs of this spread could show, and how many would settle the difference seen against the margin."""
    if n == 0 or variance <= 0:
        return Power(minimum_detectable_effect=None, required_n=None, more_sessions=None)
    detectable = minimum_detectable_effect(variance, n, alpha=alpha)
    gap = abs(abs(difference) - margin)
    if gap < 1e-12:
        return Power(minimum_detectable_effect=detectable, required_n=None, more_sessions=None)
    needed = required_n(variance, gap, alpha=alpha)
    return Power(minimum_detectable_effect=detectable, required_n=needed, more_sessions=max(0, needed - n))


def _reach(alpha: float, power: float) -> float:
    return float(ndtri(1 - alpha / 2) + ndtri(power))
