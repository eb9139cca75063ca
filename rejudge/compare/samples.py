"""The numbers of one statistic: both sides of every member, and what they could be where something is missing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from rejudge.compare.means import FloatArray
from rejudge.compare.pairs import MemberValues, TrialValue
from rejudge.compare.proportions import sign_test
from rejudge.models.comparison import Coverage, Observation

Reading: TypeAlias = Callable[[Observation], float | None]
"""What a row says for one statistic; None: nothing."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Both sides of some pairs, in one order."""

    baseline: FloatArray
    replay: FloatArray
    clusters: tuple[Hashable, ...]

    @property
    def differences(self) -> FloatArray:
        """Replay minus baseline."""
        return self.replay - self.baseline

    @property
    def clustered(self) -> bool:
        """Whether some members share a cluster."""
        return len(set(self.clusters)) < len(self.clusters)

    @property
    def units(self) -> int:
        """What is independent of each other: clusters, or members."""
        return len(set(self.clusters))


@dataclass(frozen=True, slots=True)
class Sample:
    """One statistic over a cohort: the scored pairs, and all pairs at their extremes."""

    scored: Numbers
    lowest: Numbers | None
    """Every member, with what is missing put where the difference is smallest; None without a score range."""
    highest: Numbers | None
    coverage: Coverage
    binary: bool
    """Whether every value is 0 or 1, one trial each."""
    score_range: tuple[float, float] | None


def sample(members: Sequence[MemberValues], reading: Reading, score_range: tuple[float, float] | None) -> Sample:
    """The numbers of one statistic, read from every member of a cohort."""
    sides = [(_readings(one.baseline, reading), _readings(one.replay, reading)) for one in members]
    clusters: list[Hashable] = [
        ("member", index) if one.member.cluster is None else one.member.cluster for index, one in enumerate(members)
    ]
    complete = [index for index, (baseline, replay) in enumerate(sides) if _any(baseline) and _any(replay)]
    scored = Numbers(
        np.array([_known_mean(sides[index][0]) for index in complete], dtype=np.float64),
        np.array([_known_mean(sides[index][1]) for index in complete], dtype=np.float64),
        tuple(clusters[index] for index in complete),
    )
    lowest = highest = None
    if score_range is not None:
        low, high = score_range
        lowest = _imputed(sides, clusters, low_baseline=high, low_replay=low)
        highest = _imputed(sides, clusters, low_baseline=low, low_replay=high)
    single = all(len(baseline) == len(replay) == 1 for baseline, replay in sides)
    values = np.concatenate((scored.baseline, scored.replay))
    return Sample(
        scored=scored,
        lowest=lowest,
        highest=highest,
        coverage=_coverage(sides),
        binary=single and score_range == (0.0, 1.0) and bool(np.all((values == 0) | (values == 1))),
        score_range=score_range,
    )


def _readings(trials: Sequence[TrialValue], reading: Reading) -> tuple[float | None, ...]:
    return tuple(None if trial.row is None else reading(trial.row) for trial in trials)


def _any(readings: Sequence[float | None]) -> bool:
    return any(reading is not None for reading in readings)


def _known_mean(readings: Sequence[float | None]) -> float:
    known = [reading for reading in readings if reading is not None]
    return sum(known) / len(known)


def _imputed(
    sides: Sequence[tuple[Sequence[float | None], Sequence[float | None]]],
    clusters: Sequence[Hashable],
    *,
    low_baseline: float,
    low_replay: float,
) -> Numbers:
    """All members; a member missing on either side is put at both given ends, a missing trial at its own."""
    baseline, replay = [], []
    for first, second in sides:
        whole = _any(first) and _any(second)
        baseline.append(_filled_mean(first, low_baseline) if whole else low_baseline)
        replay.append(_filled_mean(second, low_replay) if whole else low_replay)
    return Numbers(np.array(baseline, dtype=np.float64), np.array(replay, dtype=np.float64), tuple(clusters))


def _filled_mean(readings: Sequence[float | None], fill: float) -> float:
    return sum(fill if reading is None else reading for reading in readings) / len(readings)


def _coverage(sides: Sequence[tuple[Sequence[float | None], Sequence[float | None]]]) -> Coverage:
    baseline = [_any(first) for first, _ in sides]
    replay = [_any(second) for _, second in sides]
    only_baseline = sum(second and not first for first, second in zip(baseline, replay, strict=True))
    only_replay = sum(first and not second for first, second in zip(baseline, replay, strict=True))
    both = sum(first and second for first, second in zip(baseline, replay, strict=True))
    trials = [reading is not None for sides_of in sides for readings in sides_of for reading in readings]
    return Coverage(
        scored=both,
        total=len(sides),
        baseline_missing=baseline.count(False),
        replay_missing=replay.count(False),
        trials_scored=sum(trials),
        trials_total=len(trials),
        imbalance=sign_test(only_baseline, only_replay) if both < len(sides) else None,
    )
