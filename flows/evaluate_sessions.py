"""The flow `evaluate-sessions`: judge sessions by evaluators, every result a row."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from rejudge.models.requests import EvaluationRequest
from rejudge.tasks.evaluating import at_work, finish
from rejudge.tasks.fan_out import score_in_chunks, score_once_more
from rejudge.tasks.naming import evaluation_name
from rejudge.tasks.threads import threads


@flow(
    name="evaluate-sessions",
    flow_run_name=evaluation_name,
    task_runner=threads(),
)
def evaluate_sessions(request: EvaluationRequest) -> State[Any]:
    """Judge the selected sessions by the evaluators; what is stored already is skipped."""
    with at_work(request) as work:
        score_in_chunks(work)
        left_over = score_once_more(work)
        return finish(work, left_over)
