"""The verdict: where a whole interval lies, by direction and margin, and what missing members allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rejudge.models.comparison import Bounds, Estimate, Verdict, VerdictWord
from rejudge.models.evaluation import Direction

_ABOVE: Final[Mapping[Direction, VerdictWord]] = {"higher": "improved", "lower": "regressed", "none": "changed"}
_BELOW: Final[Mapping[Direction, VerdictWord]] = {"higher": "regressed", "lower": "improved", "none": "changed"}


def decide(
    difference: Estimate, direction: Direction, *, margin: float = 0.0, units: int | None = None
) -> VerdictWord:
    """The word for a difference.

    Args:
        difference: Replay minus baseline, with its interval.
        direction: Which way is better; ``none`` gives ``changed`` and ``unchanged``.
        margin: What is too small to matter; not negative.
        units: What is independent behind it, where that is fewer than n.
    """
    low, high = difference.low, difference.high
    if low is None or high is None:
        return "inconclusive"
    if direction == "none" and difference.value == 0 and low == high:
        return "unchanged"
    if low == high and not _enough_alike(difference, units):
        return "inconclusive"
    if low > margin:
        return _ABOVE[direction]
    if high < -margin:
        return _BELOW[direction]
    if margin > 0 and low >= -margin and high <= margin:
        return "unchanged" if direction == "none" else "equivalent"
    return "inconclusive"


def verdict(
    difference: Estimate,
    bounds: Bounds,
    direction: Direction,
    *,
    margin: float,
    complete: bool,
    units: int | None = None,
) -> Verdict:
    """The word with its reason; ``inconclusive`` wherever what is missing could have made it another."""
    observed = decide(difference, direction, margin=margin, units=units)
    if complete or observed == "inconclusive":
        return _verdict(observed, _why(difference, direction, observed, margin), observed, margin)
    ends = (bounds.lowest, bounds.highest)
    words = {decide(end, direction, margin=margin) for end in ends if end is not None}
    if words == {observed}:
        reason = _why(difference, direction, observed, margin) + ", whatever the missing members would have scored"
        return _verdict(observed, reason, observed, margin)
    reason = f"the scored pairs say {observed}, but members are missing"
    reason += " and the score has no known range" if not words else " that could have made it another verdict"
    return _verdict("inconclusive", reason, observed, margin)


def _enough_alike(difference: Estimate, units: int | None) -> bool:
    """Whether so many equal differences are more than chance: the sign-flip test could reach its level."""
    count = difference.n if units is None else units
    return 2.0 ** (1 - count) <= 1 - difference.level + 1e-12


def _verdict(word: VerdictWord, reason: str, observed: VerdictWord, margin: float) -> Verdict:
    return Verdict(word=word, reason=reason, observed=observed, margin=margin)


def _why(difference: Estimate, direction: Direction, word: VerdictWord, margin: float) -> str:
    if difference.n == 0:
        return "no pair was scored on both sides"
    if difference.low is None or difference.high is None:
        return "too few pairs for an interval"
    if word == "unchanged" and difference.low == difference.high:
        return "every pair is the same on both sides"
    interval = f"the {difference.level * 100:g} % interval"
    edge = f"a margin of {margin:g}" if margin else "0"
    if word in ("improved", "regressed", "changed"):
        side = {"improved": "on the better side of", "regressed": "on the worse side of"}.get(word, "beyond")
        return f"{interval} lies wholly {side} {edge}"
    if word in ("equivalent", "unchanged"):
        return f"{interval} lies wholly inside {edge}"
    if difference.low == difference.high:
        if difference.value == 0 and margin == 0:
            return "no pair differs; only a margin could call that equivalent"
        return f"all {difference.n} differences are equal, and too few to mean something"
    return f"{interval} reaches across {edge}"
