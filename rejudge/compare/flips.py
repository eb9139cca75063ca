"""Flips: the members whose verdict, truth, label or text is not what it was, both sides with their reasons."""

from __future__ import annotations

from collections.abc import Iterator

from rejudge.compare.pairs import MemberValues, MetricValues, TrialValue
from rejudge.models.comparison import Flip, FlipKind, Observation
from rejudge.models.evaluation import Direction


def flips_of(values: MetricValues) -> tuple[Flip, ...]:
    """Every flip of one metric, members in cohort order; worse ones carry ``kind`` ``worse``."""
    return tuple(flip for member in values.members for flip in _flips(member, values.direction))


def flippable(values: MemberValues) -> bool:
    """Whether a member has, on both sides, something that can flip: anything but a bare number."""
    return any(_state(one.row) is not None for one in values.baseline) and any(
        _state(one.row) is not None for one in values.replay
    )


def _flips(values: MemberValues, direction: Direction) -> Iterator[Flip]:
    for trial in values.replay:
        before, after = _row_beside(trial, values.baseline), trial.row
        if before is None or after is None:
            continue
        was, now = _state(before), _state(after)
        if was is not None and now is not None and was != now:
            yield _flip(values.member.id, before, after, _kind(before, after, direction))


def _row_beside(trial: TrialValue, baselines: tuple[TrialValue, ...]) -> Observation | None:
    """The baseline's row of the same trial, or of its first: a recorded session is usually run once."""
    same = next((one.row for one in baselines if one.trial == trial.trial), None)
    return same or next((one.row for one in baselines if one.row is not None), None)


def _state(row: Observation | None) -> str | None:
    """What can flip: the verdict where there is one, else the truth, the label or the text."""
    if row is None:
        return None
    if row.passed is not None:
        return "passed" if row.passed else "failed"
    if row.value is not None:
        return row.value
    if isinstance(row.score, bool):
        return "true" if row.score else "false"
    return None


def _kind(before: Observation, after: Observation, direction: Direction) -> FlipKind:
    if before.passed is not None and after.passed is not None:
        return "better" if after.passed else "worse"
    if direction == "none" or not (isinstance(before.score, bool) and isinstance(after.score, bool)):
        return "changed"
    return "better" if after.score == (direction == "higher") else "worse"


def _flip(member: str, before: Observation, after: Observation, kind: FlipKind) -> Flip:
    return Flip(
        member=member,
        kind=kind,
        trial=after.trial,
        baseline=_state(before) or "",
        replay=_state(after) or "",
        baseline_explanation=before.explanation,
        replay_explanation=after.explanation,
        baseline_session=before.session_id,
        replay_session=after.session_id,
        baseline_evaluation=before.evaluation_id,
        replay_evaluation=after.evaluation_id,
    )
