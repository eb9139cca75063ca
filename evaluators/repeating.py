"""Repeating patterns in a sequence of calls, found in linear time."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

MIN_PERIOD: Final = 2
MAX_PERIOD: Final = 5
MIN_REPETITIONS: Final = 3

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Repetition:
    """A stretch of a sequence that says the same thing again and again."""

    start: int
    period: int
    repetitions: int

    @property
    def length(self) -> int:
        """How many members the whole repetitions cover."""
        return self.period * self.repetitions


def short_cycles(sequence: Sequence[T | None]) -> list[Repetition]:
    """Stretches of at least 3 repetitions of a pattern of 2 to 5, none overlapping another.

    Of those that overlap the one counts that starts first, then the longest, then the one of the shortest period.
    A pattern that is itself a repetition is counted under its own period, so one call again and again is no cycle.
    A None is like nothing, not even another None.
    """
    runs = {period: _runs(sequence, period) for period in range(1, MAX_PERIOD + 1)}
    found: list[Repetition] = []
    position = 0
    while position < len(sequence):
        candidates = [
            Repetition(position, period, runs[period][position] // period + 1)
            for period in range(MIN_PERIOD, MAX_PERIOD + 1)
            if _repeats(runs, period, position)
        ]
        best = max(candidates, key=lambda cycle: (cycle.length, -cycle.period), default=None)
        if best is not None:
            found.append(best)
        position += best.length if best is not None else 1
    return found


def _runs(sequence: Sequence[T | None], period: int) -> list[int]:
    """For each position, how many members from there on equal the one a period later."""
    runs = [0] * len(sequence)
    for position in range(len(sequence) - period - 1, -1, -1):
        here, later = sequence[position], sequence[position + period]
        if here is not None and here == later:
            runs[position] = runs[position + 1] + 1
    return runs


def _repeats(runs: dict[int, list[int]], period: int, position: int) -> bool:
    enough = period * (MIN_REPETITIONS - 1)
    if runs[period][position] < enough:
        return False
    divisors = (smaller for smaller in range(1, period) if period % smaller == 0)
    return not any(runs[smaller][position] >= period - smaller for smaller in divisors)
