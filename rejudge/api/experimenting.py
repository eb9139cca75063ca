"""Experiment runs against the store: which replays they stand for, what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rejudge.api import replaying
from rejudge.api.comparing import compare_run, judge_run
from rejudge.errors import NotFound, UsageError
from rejudge.models.comparison import Comparison
from rejudge.models.gate import Gate, GateResult
from rejudge.models.override import Override, change_words
from rejudge.models.policy import PolicySet
from rejudge.models.requests import EvaluatorChoice, ExperimentRequest, ReplayRequest
from rejudge.store.cohorts import cohort_members, find_cohort_version, find_cohort_version_by_id
from rejudge.store.engine import Database
from rejudge.store.experiments import (
    Experiment,
    ExperimentRun,
    begin_experiment_run,
    end_experiment_run,
    find_experiment,
)
from rejudge.store.replays import Replay, list_replays
from rejudge.store.scorings import Requested


@dataclass(frozen=True, slots=True)
class Refused:
    """A member that could not be replayed, and why."""

    session_id: str
    reason: str


def evaluators_of(experiment: Experiment) -> tuple[EvaluatorChoice, ...]:
    """The evaluators that an experiment was made with, as they were written."""
    return tuple(EvaluatorChoice.model_validate(one) for one in experiment.spec["evaluators"])


def begin(
    database: Database, request: ExperimentRequest, requested: Sequence[Requested], *, flow_run_id: str | None = None
) -> tuple[ExperimentRun, bool]:
    """The run of a request, and whether it is new: one that was interrupted is taken up again.

    Args:
        requested: The experiment's evaluators, with ``latest`` resolved.
    """
    experiment = find_experiment(database, request.experiment)
    cohort = find_cohort_version(database, request.cohort)
    version = replaying.agent_version_for(database, request.agent or cohort.agent)
    spec = {
        "change": experiment.spec["change"],
        "trials": request.trials,
        "evaluators": [
            {
                "evaluator": one.evaluator,
                "number": one.number,
                "fingerprint": one.fingerprint,
                "params": one.params,
                "params_digest": one.params_digest,
            }
            for one in requested
        ],
    }
    return begin_experiment_run(
        database,
        experiment,
        cohort_version_id=cohort.id,
        agent=version.agent,
        agent_version=version.number,
        spec=spec,
        flow_run_id=flow_run_id,
    )


def members_of(database: Database, run: ExperimentRun) -> list[str]:
    """Ids of the sessions that a run replays, in order."""
    return cohort_members(database, find_cohort_version_by_id(database, run.cohort_version_id))


def ask_for_replays(
    database: Database, run: ExperimentRun, session_ids: Sequence[str]
) -> tuple[list[Replay], list[Refused]]:
    """The replays of a run, made where they are not there yet; and the members that cannot be replayed."""
    change = run.spec["change"]
    asked: list[Replay] = []
    refused: list[Refused] = []
    for session_id in session_ids:
        for trial in range(1, int(run.spec["trials"]) + 1):
            request = ReplayRequest(
                session=session_id,
                agent=f"{run.agent}@{run.agent_version}",
                override=Override.model_validate(change.get("override", {})),
                policies=PolicySet.model_validate(change.get("policies", {})),
                fork_point=change.get("fork_point"),
                trial=trial,
            )
            try:
                asked.append(replaying.ask(database, request, experiment_run_id=run.id)[0])
            except (UsageError, NotFound) as error:  # such as a fork point that this session has not
                refused.append(Refused(session_id, error.message))
                break
    return asked, refused


def conclude(
    database: Database, run: ExperimentRun, *, whole: bool, gate: Gate | None = None, **options: Any
) -> tuple[Comparison, GateResult | None]:
    """Compares a run out of what is stored, and marks it as ended.

    Args:
        whole: Whether every replay and scoring came about.
        gate: The rules to decide by.
        options: See `rejudge.compare.compare`.
    """
    from rejudge.report.wording import headline

    result: GateResult | None = None
    if gate is None:
        comparison = compare_run(database, run, **options)
    else:
        comparison, result = judge_run(database, run, gate, **options)
    summary: dict[str, Any] = {"headline": headline(comparison), "digest": comparison.digest}
    if result is not None:
        summary["gate"] = result.outcome
    end_experiment_run(database, run.id, status="completed" if whole else "partial", summary=summary)
    return comparison, result


def change_line(change: dict[str, Any]) -> str:
    """What an experiment changes, in one line."""
    parts = change_words(Override.model_validate(change.get("override", {})))
    if change.get("fork_point"):
        parts.append(f"from {change['fork_point']}")
    return ", ".join(parts) or "nothing: an unchanged replay"


def replays_of(database: Database, run: ExperimentRun) -> list[Replay]:
    """The replays of a run, by number."""
    return list_replays(database, experiment_run_id=run.id)
