"""The flow `replay-session`: run an agent again on one session's inputs, and score what comes of it."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from rejudge.models.requests import ReplayRequest
from rejudge.tasks.naming import replay_name
from rejudge.tasks.replay_frame import at_replay, finish_replay, replay_one, score_result
from rejudge.tasks.threads import threads


@flow(name="replay-session", flow_run_name=replay_name, task_runner=threads())
def replay_session(request: ReplayRequest) -> State[Any]:
    """Replay one session, unchanged or as a fork, and judge the result by the request's evaluators."""
    with at_replay(request) as work:
        replayed = replay_one(work)
        scorings = score_result(work, replayed)
        return finish_replay(work, replayed, scorings)
