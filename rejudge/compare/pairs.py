"""Pairs: one per cohort member and metric, with what is missing named and never dropped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rejudge.errors import UsageError
from rejudge.models.comparison import Member, Metric, MetricKind, Missing, Observation, Pair, Run, SideName
from rejudge.models.evaluation import Direction

Place: TypeAlias = tuple[str, SideName, int]
"""A member, a side and a trial."""

NO_ROW = "no scoring of it was found"


@dataclass(frozen=True, slots=True)
class TrialValue:
    """One trial of one member on one side: its row, or why there is none."""

    trial: int
    row: Observation | None
    reason: str = ""
    session_id: str = ""


@dataclass(frozen=True, slots=True)
class MemberValues:
    """One member on one metric: every trial of both sides."""

    member: Member
    baseline: tuple[TrialValue, ...]
    replay: tuple[TrialValue, ...]

    def side(self, name: SideName) -> tuple[TrialValue, ...]:
        """The trials of that side."""
        return self.baseline if name == "baseline" else self.replay


@dataclass(frozen=True, slots=True)
class MetricValues:
    """One metric: every member of the cohort, in its order, and what the rows agree on."""

    metric: Metric
    kind: MetricKind
    direction: Direction
    score_range: tuple[float, float] | None
    fingerprints: tuple[str, ...]
    members: tuple[MemberValues, ...]


def metric_values(observations: Iterable[Observation], members: Sequence[Member]) -> tuple[MetricValues, ...]:
    """Every metric among the observations, laid out by member, side and trial.

    Raises:
        UsageError: For two rows in one place, and for rows or members that are not of this cohort.
    """
    known = {member.id for member in members}
    if len(known) != len(members):
        raise UsageError("the cohort names a member twice", mend="give each member once, with all its runs")
    rows, ends = _by_metric(observations, known)
    return tuple(_values(metric, rows[metric], ends, members) for metric in sorted(rows, key=lambda one: one.key))


def _by_metric(
    observations: Iterable[Observation], known: set[str]
) -> tuple[dict[Metric, dict[Place, Observation]], dict[Metric, dict[Place, Observation]]]:
    """The rows of each metric, and the scorings without rows of each evaluator (a metric of no name)."""
    rows: defaultdict[Metric, dict[Place, Observation]] = defaultdict(dict)
    ends: defaultdict[Metric, dict[Place, Observation]] = defaultdict(dict)
    shared: dict[Metric, Metric] = {}
    for one in observations:
        if one.member not in known:
            raise UsageError(f"{one.member!r} is no member of the cohort", mend="compare rows of its members only")
        metric = shared.setdefault(one.metric, one.metric)
        shelf = rows[metric] if one.name else ends[metric]
        place: Place = (one.member, one.side, one.trial)
        if place in shelf:
            raise UsageError(
                f"{metric.key} has two rows for {one.member!r}, {one.side}, trial {one.trial}",
                mend="compare the rows of one scoring each: the newest",
            )
        shelf[place] = one
    named = {metric.model_copy(update={"name": ""}) for metric in rows}
    for metric in set(ends) - named:  # never gave a row: compared, with nothing, rather than not shown
        rows[metric] = {}
    return rows, ends


def _values(
    metric: Metric,
    rows: Mapping[Place, Observation],
    ends: Mapping[Metric, Mapping[Place, Observation]],
    members: Sequence[Member],
) -> MetricValues:
    scored = [row for row in rows.values() if row.data_type != "unscored"]
    kind = _kind(scored)
    fitting = {place: row for place, row in rows.items() if row.data_type == "unscored" or _fits(row, kind)}
    strange = {place: row for place, row in rows.items() if place not in fitting}
    ended = ends.get(metric.model_copy(update={"name": ""}), {})
    trials = _baseline_trials(rows, ended)

    def value(member: Member, side: SideName, run: Run) -> TrialValue:
        place: Place = (member.id, side, run.trial)
        if run.status != "completed":
            why = f": {run.reason}" if run.reason else ""
            return TrialValue(run.trial, None, f"replay {run.status.replace('_', ' ')}{why}", run.session_id)
        if place in strange:
            reason = f"a {strange[place].data_type} where others are {kind}"
            return TrialValue(run.trial, None, reason, strange[place].session_id)
        row = fitting.get(place) or ended.get(place)
        if row is None:
            return TrialValue(run.trial, None, NO_ROW, run.session_id)
        if row.data_type == "unscored":
            return TrialValue(run.trial, None, _unscored(row), row.session_id)
        return TrialValue(run.trial, row, "", row.session_id)

    def laid_out(member: Member) -> MemberValues:
        baselines = [Run(trial=trial, session_id=member.id) for trial in trials.get(member.id, (1,))]
        replays = sorted(member.runs, key=lambda run: run.trial) or [Run(status="not_run")]
        return MemberValues(
            member,
            tuple(value(member, "baseline", run) for run in baselines),
            tuple(value(member, "replay", run) for run in replays),
        )

    return MetricValues(
        metric=metric,
        kind=kind,
        direction=_direction(scored),
        score_range=_score_range(scored, kind),
        fingerprints=tuple(sorted({row.fingerprint for row in rows.values() if row.fingerprint})),
        members=tuple(laid_out(member) for member in members),
    )


def _baseline_trials(*shelves: Mapping[Place, Observation]) -> dict[str, tuple[int, ...]]:
    trials: defaultdict[str, set[int]] = defaultdict(set)
    for shelf in shelves:
        for member, side, trial in shelf:
            if side == "baseline":
                trials[member].add(trial)
    return {member: tuple(sorted(found)) for member, found in trials.items()}


def _kind(scored: Sequence[Observation]) -> MetricKind:
    """What most rows are; a bool among floats counts as a number."""
    counts = Counter(row.data_type for row in scored)
    if not counts:
        return "none"
    numbers, texts = counts["float"] + counts["bool"], counts["categorical"] + counts["str"]
    if numbers >= texts:
        return "mean" if counts["float"] else "rate"
    return "categorical" if counts["categorical"] >= counts["str"] else "text"


def _fits(row: Observation, kind: MetricKind) -> bool:
    if kind in ("mean", "rate"):
        return row.data_type in ("float", "bool")
    return row.data_type in ("str", "categorical")


def _unscored(row: Observation) -> str:
    if row.status == "scored":
        return f"unscored: {row.unscored}" if row.unscored else "unscored"
    return row.status.replace("_", " ") + (f": {row.unscored}" if row.unscored else "")


def _direction(scored: Sequence[Observation]) -> Direction:
    stated = {row.direction for row in scored} - {"none"}
    return stated.pop() if len(stated) == 1 else "none"


def _score_range(scored: Sequence[Observation], kind: MetricKind) -> tuple[float, float] | None:
    if kind == "rate":
        return 0.0, 1.0
    lows = [0.0 if isinstance(row.score, bool) else row.min_score for row in scored]
    highs = [1.0 if isinstance(row.score, bool) else row.max_score for row in scored]
    known_lows = [low for low in lows if low is not None]
    known_highs = [high for high in highs if high is not None]
    if not scored or len(known_lows) < len(lows) or len(known_highs) < len(highs):
        return None
    return min(known_lows), max(known_highs)


def pair_of(values: MemberValues) -> Pair:
    """One member's pair: means over the trials, and the ids behind them."""
    return Pair(
        member=values.member.id,
        cluster=values.member.cluster,
        baseline=_mean(_scores(values.baseline)),
        replay=_mean(_scores(values.replay)),
        baseline_passed=_mean(_verdicts(values.baseline)),
        replay_passed=_mean(_verdicts(values.replay)),
        baseline_text=_text(values.baseline),
        replay_text=_text(values.replay),
        baseline_scores=_scores(values.baseline),
        replay_scores=_scores(values.replay),
        baseline_verdicts=_verdicts(values.baseline),
        replay_verdicts=_verdicts(values.replay),
        baseline_sessions=_ids(values.baseline, "session_id"),
        replay_sessions=_ids(values.replay, "session_id"),
        baseline_evaluations=_ids(values.baseline, "evaluation_id"),
        replay_evaluations=_ids(values.replay, "evaluation_id"),
    )


def missing_of(values: MemberValues) -> list[Missing]:
    """What one member lacks: one entry for a side that is missing whole and for one reason, else one a trial."""
    return [*_missing_on(values, "baseline"), *_missing_on(values, "replay")]


def _missing_on(values: MemberValues, side: SideName) -> list[Missing]:
    trials = values.side(side)
    lost = [trial for trial in trials if trial.row is None]
    as_one = len(lost) == len(trials) and len({trial.reason for trial in lost}) == 1
    return [
        Missing(
            member=values.member.id,
            side=side,
            reason=trial.reason,
            trial=None if as_one else trial.trial,
            session_id=trial.session_id,
        )
        for trial in (lost[:1] if as_one else lost)
    ]


def _scores(trials: Sequence[TrialValue]) -> tuple[float, ...]:
    rows = [trial.row for trial in trials if trial.row is not None]
    return tuple(float(row.score) for row in rows if row.score is not None)


def _verdicts(trials: Sequence[TrialValue]) -> tuple[bool, ...]:
    rows = [trial.row for trial in trials if trial.row is not None]
    return tuple(row.passed for row in rows if row.passed is not None)


def _text(trials: Sequence[TrialValue]) -> str | None:
    texts = [trial.row.value for trial in trials if trial.row is not None]
    return next((text for text in texts if text is not None), None)


def _ids(trials: Sequence[TrialValue], field: str) -> tuple[str, ...]:
    found = (getattr(trial.row, field) for trial in trials if trial.row is not None)
    return tuple(str(one) for one in found if one)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
