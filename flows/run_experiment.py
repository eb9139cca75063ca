"""The flow `run-experiment`: replay a cohort under a change, score both sides, compare."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from rejudge.models.requests import ExperimentRequest
from rejudge.tasks.experimenting import at_experiment, conclude, replay_members, score_both_sides
from rejudge.tasks.naming import experiment_name
from rejudge.tasks.threads import threads


@flow(name="run-experiment", flow_run_name=experiment_name, task_runner=threads())
def run_experiment(request: ExperimentRequest) -> State[Any]:
    """Replay the cohort's sessions under the experiment's change, score both sides, and compare them in pairs."""
    with at_experiment(request) as work:
        replayed = replay_members(work)
        scorings = score_both_sides(work)
        return conclude(work, replayed, scorings)
