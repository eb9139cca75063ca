"""Replays and experiments from a command or from Python: checked first, then run as a flow. Prefect comes last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rejudge.api import replaying
from rejudge.api.comparing import check_gate
from rejudge.api.experimenting import evaluators_of
from rejudge.errors import RejudgeError
from rejudge.models.requests import EvaluatorChoice, ExperimentRequest, ReplayRequest, Request
from rejudge.scoring.batch import Judge
from rejudge.store.cohorts import find_cohort_version
from rejudge.store.engine import Database
from rejudge.store.experiments import find_experiment
from rejudge.tasks.embedded import FlowEnd, run_flow
from rejudge.tasks.judges import find_judges, pinned
from rejudge.tasks.pools import check_judges, make_pool
from rejudge.tasks.serving import HandedOver, hand_over
from rejudge.tasks.surroundings import Progress, Surroundings

if TYPE_CHECKING:
    from rejudge.tasks.experimenting import ExperimentReport
    from rejudge.tasks.replay_frame import ReplayReport

REPLAY_FLOW = "rejudge.flows.replay_session:replay_session"
EXPERIMENT_FLOW = "rejudge.flows.run_experiment:run_experiment"

Say = Callable[[str], None]
Move = Callable[[Progress], None]


def run_replay(
    database: Database,
    request: ReplayRequest,
    *,
    ephemeral: bool = False,
    say: Say = lambda _: None,
    progress: Move | None = None,
) -> ReplayReport:
    """Replay one session here, score the result, and wait.

    Args:
        ephemeral: Use Prefect's temporary server.
        say: Told in one line what a person should know.
        progress: Called as things are done.

    Raises:
        NotFound: Where the session, the agent, the fork point or an evaluator is not there.
        UsageError: Where the session cannot be replayed, or params do not fit.
    """
    asked, judges, created = _checked_replay(database, request)
    end = _run(database, REPLAY_FLOW, asked, judges, ephemeral=ephemeral, say=say, progress=progress)
    report: ReplayReport = end.result
    return replace(report, created=created, url=end.url)


def run_experiment(
    database: Database,
    request: ExperimentRequest,
    *,
    ephemeral: bool = False,
    say: Say = lambda _: None,
    progress: Move | None = None,
) -> ExperimentReport:
    """Run an experiment here, and wait (see `run_replay`)."""
    asked, judges = _checked_experiment(database, request)
    end = _run(database, EXPERIMENT_FLOW, asked, judges, ephemeral=ephemeral, say=say, progress=progress)
    report: ExperimentReport = end.result
    return replace(report, url=end.url)


def hand_over_replay(database: Database, request: ReplayRequest) -> HandedOver:
    """Hand a replay to the served deployment, and do not wait (see `run_replay`)."""
    return hand_over("replay-session", _checked_replay(database, request)[0])


def hand_over_experiment(database: Database, request: ExperimentRequest) -> HandedOver:
    """Hand an experiment run to the served deployment, and do not wait (see `run_replay`)."""
    return hand_over("run-experiment", _checked_experiment(database, request)[0])


def _checked_replay(database: Database, request: ReplayRequest) -> tuple[ReplayRequest, list[Judge], bool]:
    """The request with ``latest`` resolved, what judges it, and whether the replay is new.

    Everything that can be refused is refused before a server is looked for.
    """
    judges = find_judges(database, request.evaluators)
    check_judges(judges)
    replay, created = replaying.ask(database, request)
    pins = {
        "agent": f"{replay.agent}@{replay.agent_version}",
        "evaluators": pinned(request.evaluators, judges),
        "again": False,  # it is made: the flow runs the last one
    }
    return request.model_copy(update=pins), judges, created


def _checked_experiment(database: Database, request: ExperimentRequest) -> tuple[ExperimentRequest, list[Judge]]:
    choices: tuple[EvaluatorChoice, ...] = evaluators_of(find_experiment(database, request.experiment))
    judges = find_judges(database, choices)
    check_judges(judges)
    cohort = find_cohort_version(database, request.cohort)
    version = replaying.agent_version_for(database, request.agent or cohort.agent)
    if request.gate is not None:
        check_gate(request.gate, [judge.requested for judge in judges])
    pins = {"cohort": f"{cohort.name}@{cohort.number}", "agent": f"{version.agent}@{version.number}"}
    return request.model_copy(update=pins), judges


def _run(
    database: Database,
    flow: str,
    request: Request,
    judges: Sequence[Judge],
    *,
    ephemeral: bool,
    say: Say,
    progress: Move | None,
) -> FlowEnd:
    with make_pool(judges) as pool:
        by = Surroundings(database=database, pool=pool, on_progress=progress, in_process=True)
        end = run_flow(flow, request, by=by, ephemeral=ephemeral, say=say)
    if end.result is None:
        raise RejudgeError(end.message or f"the flow ended {end.name}", mend=f"see {end.url}" if end.url else None)
    return end
