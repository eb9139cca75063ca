"""How fast an endpoint is asked: by one process, and by several that know of each other through a file."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rejudge.evaluators.pace import Pace


@dataclass
class Clock:
    """Time that passes when it is told to."""

    now: float = 100.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Endpoint:
    """Takes one call every `gap` seconds, and says of others when it would."""

    clock: Clock
    gap: float
    taken: int = 0
    refused: int = 0
    free: float = field(default=0.0)

    def wait(self) -> float | None:
        left = self.free - self.clock.now
        if left > 0:
            self.refused += 1
            return left
        self.free = max(self.free, self.clock.now) + self.gap
        self.taken += 1
        return None


def test_a_pace_keeps_the_wait_it_was_told_and_a_distance_after_it() -> None:
    clock = Clock()
    pace = Pace(clock=clock)
    assert pace.wait(at_most=5) == 0
    for _ in range(12):  # under way together, refused together
        pace.refused(2, sent=100)
    waits = [pace.wait(at_most=5) for _ in range(3)]
    assert (waits, pace.barred()) == ([2, pytest.approx(2.02), pytest.approx(2.04)], 2)
    assert pace.wait(at_most=1) is None
    clock.now += 60
    for _ in range(200):
        pace.went_well()
    assert [pace.wait(at_most=5), pace.wait(at_most=5)] == [0, 0]


def test_processes_of_a_batch_keep_one_pace(tmp_path: Path) -> None:
    clock = Clock()
    one, other = (Pace(clock=clock, file=tmp_path / "pace") for _ in range(2))
    one.refused(3, sent=100)
    assert other.barred() == 3
    assert [other.wait(at_most=9), one.wait(at_most=9)] == [3, pytest.approx(3.02)]


@pytest.mark.parametrize("gap", [0.01, 0.1, 1.0, 4.0], ids=str)
def test_a_pace_finds_what_an_endpoint_takes(gap: float, tmp_path: Path) -> None:
    clock, jitter = Clock(), random.Random(7)
    endpoint = Endpoint(clock, gap)
    paces = [Pace(clock=clock, file=tmp_path / "pace") for _ in range(2)]
    for call in range(600):
        pace = paces[call % 2]
        delay = pace.wait(at_most=1e9)
        assert delay is not None
        clock.now += delay + jitter.random() * gap / 20
        wait = endpoint.wait()
        if wait is None:
            pace.went_well()
        else:
            pace.refused(wait, sent=clock.now)
    assert endpoint.refused < endpoint.taken / 5
    assert clock.now - 100 < 2 * endpoint.taken * gap
