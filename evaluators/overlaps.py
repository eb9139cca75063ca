"""How many pairs of intervals overlap, without looking at every pair."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from math import comb


def overlapping_pairs(intervals: Sequence[tuple[int, int]]) -> int:
    """Pairs that share time: each starts before the other ends. Touching ends do not overlap. O(n log n).

    Args:
        intervals: (start, end) with start ≤ end.
    """
    ends = sorted(end for _, end in intervals)
    apart = sum(bisect_right(ends, start) for start, _ in intervals)
    # A moment (start = end) ends at its own start, and two equal moments each end at the other's.
    moments = Counter(start for start, end in intervals if start == end)
    apart -= sum(count + comb(count, 2) for count in moments.values())
    return comb(len(intervals), 2) - apart
