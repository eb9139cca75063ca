"""The frame of an experiment run: its replays asked for and run, both sides scored, the comparison published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from rejudge.api import experimenting
from rejudge.api.reporting import report_context
from rejudge.models.comparison import Comparison
from rejudge.models.gate import GateOutcome, GateResult
from rejudge.models.requests import EvaluationRequest, EvaluatorChoice, ExperimentRequest
from rejudge.models.selection import Selection
from rejudge.scoring.batch import Judge, plan_batch
from rejudge.scoring.pool import WorkerPool
from rejudge.scoring.report import BatchReport
from rejudge.store.engine import Database
from rejudge.store.experiments import ExperimentRun, find_experiment
from rejudge.store.replays import Replay
from rejudge.store.selecting import list_sessions
from rejudge.tasks.evaluating import flow_run_id, make_report, open_database
from rejudge.tasks.fan_out import score_in_chunks, score_once_more
from rejudge.tasks.judges import find_judges
from rejudge.tasks.pools import make_pool
from rejudge.tasks.publishing import begin_progress, publish_progress, publish_report
from rejudge.tasks.publishing_comparison import publish_comparison
from rejudge.tasks.replaying import Replayed, replay_all
from rejudge.tasks.surroundings import around, in_surroundings
from rejudge.tasks.telling import tell
from rejudge.tasks.working import Work, working


@dataclass(frozen=True, slots=True)
class ExperimentReport:
    """What an experiment run came to."""

    run: ExperimentRun
    comparison: Comparison
    replays: tuple[Replay, ...]
    scorings: BatchReport | None
    """None where there was nothing to score by."""
    lost: tuple[str, ...] = ()
    """What could not be run at all, one line each."""
    refused: tuple[experimenting.Refused, ...] = ()
    gate: GateResult | None = None
    """None where the request had none."""
    url: str | None = None
    """The flow run's page."""

    @property
    def failed(self) -> tuple[Replay, ...]:
        """Replays that ended otherwise than completed."""
        return tuple(one for one in self.replays if one.status != "completed")

    @property
    def exit_code(self) -> int:
        """0, or 8 where something did not come about; with a gate its own, which judges what is missing by its rules.

        What could not even be run is no member's doing: a gate that passed without it has not judged all.
        """
        if self.gate is not None:
            unrun = self.lost or (self.scorings is not None and self.scorings.lost)
            return self.gate.exit_code or (8 if unrun else 0)
        scored = self.scorings is None or self.scorings.exit_code == 0
        return 0 if scored and not (self.lost or self.refused or self.failed) else 8


@dataclass(slots=True)
class ExperimentWork:
    """One experiment run at work."""

    database: Database
    run: ExperimentRun
    session_ids: list[str]
    judges: list[Judge]
    choices: tuple[EvaluatorChoice, ...]
    pool: WorkerPool
    request: ExperimentRequest
    replays: list[Replay] = field(default_factory=list)
    refused: list[experimenting.Refused] = field(default_factory=list)


@contextmanager
def at_experiment(request: ExperimentRequest) -> Iterator[ExperimentWork]:
    """The run of a request with its replays asked for; one that was interrupted is taken up again."""
    with in_surroundings() as by:
        database = open_database()
        choices = experimenting.evaluators_of(find_experiment(database, request.experiment))
        judges = find_judges(database, choices, ask_prefect=True)
        requested = [judge.requested for judge in judges]
        run, _ = experimenting.begin(database, request, requested, flow_run_id=flow_run_id())
        session_ids = experimenting.members_of(database, run)
        pool = by.pool or make_pool(judges)
        at = ExperimentWork(database, run, session_ids, judges, choices, pool, request)
        at.replays, at.refused = experimenting.ask_for_replays(database, run, session_ids)
        try:
            yield at
        finally:
            pool.close()


def replay_members(at: ExperimentWork) -> Replayed:
    """Run every replay of the run that has not ended yet."""
    numbers = {one.id: one.number for one in list_sessions(at.database, Selection(ids=tuple(at.session_ids)))}
    change = experimenting.change_line(at.run.spec["change"])

    def title(part: Sequence[Replay]) -> str:
        first, last = numbers[part[0].baseline_session_id], numbers[part[-1].baseline_session_id]
        which = f"session {first}" if len(part) == 1 else f"sessions {first} to {last}"
        trial = f", trial {part[0].trial}" if at.run.spec["trials"] > 1 else ""
        return f"replay {which}{trial}: {change}"

    replayed = replay_all(at.replays, title=title)
    at.replays = list(replayed.ended)
    return replayed


def score_both_sides(at: ExperimentWork) -> BatchReport | None:
    """Score baselines and results; what is scored already is skipped."""
    if not at.judges:
        return None
    results = [one.result_session_id for one in at.replays if one.result_session_id is not None]
    return score_sessions_of(at.database, at.pool, [*at.session_ids, *results], at.judges, at.choices)


def score_sessions_of(
    database: Database,
    pool: WorkerPool,
    session_ids: Sequence[str],
    judges: Sequence[Judge],
    choices: tuple[EvaluatorChoice, ...],
) -> BatchReport:
    """Score these sessions within the flow that runs, whatever is missing."""
    request = EvaluationRequest(selection=Selection(ids=tuple(session_ids[:1])), evaluators=choices)
    batch = plan_batch(database, request, judges, session_ids=session_ids)
    with working(Work(batch, database, pool, flow_run_id=flow_run_id())) as work:
        begin_progress(work)
        score_in_chunks(work)
        left_over = score_once_more(work)
        publish_progress(work)
        report = make_report(database, work, left_over)
    publish_report(report)
    tell(report.sentence)
    return report


def conclude(at: ExperimentWork, replayed: Replayed, scorings: BatchReport | None) -> State[Any]:
    """Compare, publish, and end with the state that says how it went."""
    whole = not (replayed.lost or at.refused or around().stop.is_set())
    asked = at.request
    comparison, gate = experimenting.conclude(
        at.database, at.run, whole=whole, gate=asked.gate, margin=asked.margin, alpha=asked.alpha, seed=asked.seed
    )
    report = ExperimentReport(
        run=at.run,
        comparison=comparison,
        replays=tuple(at.replays),
        scorings=scorings,
        lost=replayed.lost,
        refused=tuple(at.refused),
        gate=gate,
    )
    told = publish_comparison(comparison, report_context(at.database, at.run, comparison), gate)
    tell(told)
    if report.exit_code == 0:
        return Completed(name="Compared" if gate is None else "GatePassed", message=told, data=report)
    name = "DoneInPart" if gate is None or gate.outcome == "passed" else _NOT_PASSED[gate.outcome]
    return Failed(name=name, message=told, data=report)


_NOT_PASSED: Final[dict[GateOutcome, str]] = {
    "failed": "GateFailed",
    "inconclusive": "GateInconclusive",
    "error": "GateNotJudged",
}
"""What the final state of a run is called whose gate did not pass."""
