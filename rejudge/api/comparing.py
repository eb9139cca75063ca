"""From an experiment run's stored rows to its comparison."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from rejudge.compare import compare
from rejudge.errors import UsageError
from rejudge.models.comparison import Comparison, Member, Observation, Run, RunStatus, SideName
from rejudge.models.failure_line import failure_line
from rejudge.models.gate import Gate, GateResult
from rejudge.models.session import Session
from rejudge.store.cohorts import cohort_members, find_cohort_version_by_id
from rejudge.store.engine import Database
from rejudge.store.evaluations import Evaluation, Scoring, Wanted, list_evaluations, list_scorings
from rejudge.store.experiments import ExperimentRun
from rejudge.store.replays import ENDED, Replay, list_replays
from rejudge.store.scorings import Requested
from rejudge.store.selecting import list_sessions_by_id

Key = tuple[str, int, str]
"""Evaluator, version, params digest."""


def compare_run(database: Database, run: ExperimentRun, **options: Any) -> Comparison:
    """The comparison of an experiment run, out of what is stored now.

    Args:
        options: ``margin``, ``margins``, ``gating``, ``alpha``, ``seed`` (see `rejudge.compare.compare`).
    """
    observations, members = run_rows(database, run)
    return compare(observations, members, **options)


def judge_run(database: Database, run: ExperimentRun, gate: Gate, **options: Any) -> tuple[Comparison, GateResult]:
    """The comparison of a run, and what becomes of a gate on it.

    Args:
        gate: Its ``@latest`` are the versions that judged the run.
        options: As for `compare_run`, but for ``gating``: it is the gate's metrics that are decided on.

    Raises:
        NotFound: Where the gate names an evaluator that did not judge the run.
    """
    from rejudge.compare.gate_file import with_versions
    from rejudge.compare.gating import judge_gate

    pinned = with_versions(gate, {one["evaluator"]: one["number"] for one in run.spec["evaluators"]})
    comparison = compare_run(database, run, gating=list(pinned.metrics), **options)
    return comparison, judge_gate(pinned, comparison)


def check_gate(gate: Gate, requested: Sequence[Requested]) -> None:
    """Refuses a gate on metrics that these evaluators cannot give, before anything is run.

    Raises:
        UsageError: With what the run is judged by.
    """
    references = {one.reference for one in requested} | {f"{one.evaluator}@latest" for one in requested}
    strange = [rule.evaluator for rule in gate.rule if rule.evaluator not in references]
    if strange:
        known = ", ".join(sorted(one.reference for one in requested))
        raise UsageError(
            f"the gate names {strange[0]!r}, and the experiment is judged by {known or 'nothing'}",
            mend="correct the gate, or create an experiment with that evaluator; nothing was run",
        )


def run_rows(database: Database, run: ExperimentRun) -> tuple[list[Observation], list[Member]]:
    """Every row that a run's comparison is made from, and its whole cohort with what became of each replay."""
    session_ids = cohort_members(database, find_cohort_version_by_id(database, run.cohort_version_id))
    replays = list_replays(database, experiment_run_id=run.id)
    sessions = {one.id: one for one in list_sessions_by_id(database, session_ids)}
    wanted = {(one["evaluator"], one["number"], one["params_digest"]) for one in run.spec["evaluators"]}
    members = [_member(session_id, sessions.get(session_id), replays) for session_id in session_ids]
    observations = _observations(database, {one: (one, 1) for one in session_ids}, wanted, "baseline")
    results = {
        replay.result_session_id: (replay.baseline_session_id, replay.trial)
        for replay in replays
        if replay.result_session_id is not None and replay.status == "completed"
    }
    return observations + _observations(database, results, wanted, "replay"), members


def _member(session_id: str, session: Session | None, replays: Iterable[Replay]) -> Member:
    mine = sorted((one for one in replays if one.baseline_session_id == session_id), key=lambda one: one.trial)
    runs = tuple(
        Run(
            trial=one.trial,
            status=_run_status(one.status),
            session_id=one.result_session_id or "",
            replay_id=one.id,
            reason=one.error,
        )
        for one in mine
    )
    return Member(
        id=session_id,
        number=session.number if session is not None else None,
        name=session.name if session is not None else None,
        cluster=session.user_id if session is not None else None,
        runs=runs or (Run(status="not_run", reason="it was not replayed"),),
    )


def _run_status(status: str) -> RunStatus:
    if status not in ENDED:
        return "in_progress" if status == "running" else "not_run"
    return cast(RunStatus, status)  # ENDED holds five of its words


def _observations(
    database: Database, places: dict[str, tuple[str, int]], wanted: set[Key], side: SideName
) -> list[Observation]:
    """Rows of these sessions.

    Args:
        places: By session: the member it stands for, and the trial.
    """
    rows = Wanted(session_ids=sorted(places), labels=False)
    scorings = [one for one in list_scorings(database, rows) if _scoring_key(one) in wanted]
    by_id = {one.id: one for one in scorings}
    observations = []
    scored = set()
    for row in list_evaluations(database, rows):
        if row.scoring_id in by_id:
            scored.add(row.scoring_id)
            observations.append(_observation(row, by_id[row.scoring_id], places[row.session_id], side))
    for one in scorings:
        if one.id not in scored:
            observations.append(_unscored(one, places[one.session_id], side))
    return observations


def _observation(row: Evaluation, scoring: Scoring, place: tuple[str, int], side: SideName) -> Observation:
    return Observation(
        member=place[0],
        side=side,
        trial=place[1],
        evaluator=scoring.evaluator,
        version=scoring.evaluator_version,
        params_digest=scoring.params_digest,
        name=row.name,
        data_type=row.data_type,
        score=row.score,
        value=row.value,
        passed=row.passed,
        unscored=row.unscored,
        explanation=row.explanation,
        direction=row.direction,
        min_score=row.min_score,
        max_score=row.max_score,
        session_id=row.session_id,
        scoring_id=scoring.id,
        evaluation_id=row.id,
        fingerprint=scoring.fingerprint,
    )


def _unscored(scoring: Scoring, place: tuple[str, int], side: SideName) -> Observation:
    reason = failure_line(scoring.error)
    return Observation(
        member=place[0],
        side=side,
        trial=place[1],
        evaluator=scoring.evaluator,
        version=scoring.evaluator_version,
        params_digest=scoring.params_digest,
        data_type="unscored",
        unscored=f"{scoring.status}: {reason}" if reason else scoring.status,
        session_id=scoring.session_id,
        scoring_id=scoring.id,
        fingerprint=scoring.fingerprint,
        status=scoring.status,
    )


def _scoring_key(scoring: Scoring) -> Key:
    return (scoring.evaluator, scoring.evaluator_version, scoring.params_digest)
