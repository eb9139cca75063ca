"""The flow `nightly-evaluation`: judge whatever is not judged yet."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from rejudge.models.requests import NightlyRequest
from rejudge.tasks.evaluating import at_night_work, finish
from rejudge.tasks.fan_out import score_in_chunks, score_once_more
from rejudge.tasks.naming import nightly_name
from rejudge.tasks.threads import threads


@flow(name="nightly-evaluation", flow_run_name=nightly_name, task_runner=threads())
def nightly_evaluation(request: NightlyRequest) -> State[Any]:
    """Judge every session that is not scored yet, or that late spans have re-opened."""
    with at_night_work(request) as work:
        score_in_chunks(work)
        left_over = score_once_more(work)
        return finish(work, left_over)
