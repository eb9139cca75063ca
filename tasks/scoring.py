"""The scoring tasks: a chunk, and one scoring once more."""

from __future__ import annotations

import threading
import time
from typing import Any
from uuid import UUID

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.context import TaskRunContext

from rejudge.errors import RejudgeError, StoreError
from rejudge.models.evaluation import SETTLED
from rejudge.scoring.batch import Chunk
from rejudge.scoring.chunk import ChunkEnd, RunIds, Unscored, score_chunk, score_once
from rejudge.tasks import policy
from rejudge.tasks.limits import limits_on, within
from rejudge.tasks.states import result_of
from rejudge.tasks.surroundings import around
from rejudge.tasks.working import stopped, work


class StillUnscored(RejudgeError):
    """One scoring, tried again, gave no score: the task run's failure."""

    def __init__(self, status: str, error: str, *, retryable: bool, retry_after: float | None) -> None:
        super().__init__(f"{status}: {error}")
        self.status = status
        self.error = error
        self.retryable = retryable
        self.retry_after = retry_after


def may_help(_task: Any, _run: Any, state: Any) -> bool:
    """Whether another attempt could end otherwise."""
    error = result_of(state)
    if isinstance(error, StillUnscored):
        return error.retryable and (error.retry_after or 0.0) <= policy.RETRY_DELAY_MAX
    return isinstance(error, StoreError)


@task(
    cache_policy=NO_CACHE,
    task_run_name="{title}",
    retries=policy.CHUNK_RETRIES,
    retry_delay_seconds=policy.RETRY_BASE_SECONDS,
    retry_condition_fn=may_help,
)
def score_sessions(title: str, chunk: Chunk) -> ChunkEnd:
    """Score one chunk of sessions."""
    at = work()
    ids = RunIds(at.flow_run_id, _task_run_id())
    judges = [at.batch.judges[position] for position in chunk.judges]
    with within(limits_on(at, judges), wanted=policy.SLOW_AT_ONCE if chunk.slow else 1) as allowance:
        return score_chunk(
            at.database,
            at.pool,
            at.batch,
            chunk,
            ids=ids,
            on_scored=at.count,
            stop=stopped(),
            at_once=allowance.at_once,
            may_begin=allowance.may_begin,
        )


@task(
    cache_policy=NO_CACHE,
    task_run_name="{title}",
    retries=policy.RETRIES,
    retry_delay_seconds=list(policy.RETRY_DELAYS),
    retry_jitter_factor=policy.RETRY_JITTER,
    retry_condition_fn=may_help,
)
def score_again(title: str, unscored: Unscored) -> str:
    """Score one session by one judge once more, after the time that its backend asked for."""
    at = work()
    _wait_until_allowed(unscored)
    with within(limits_on(at, [at.batch.judges[unscored.judge]]), wanted=1) as allowance:
        allowance.wait()
        outcome = score_once(
            at.database,
            at.pool,
            at.batch,
            unscored.session_id,
            unscored.judge,
            ids=RunIds(at.flow_run_id, _task_run_id()),
            stop=stopped(),
        )
    if outcome.status in SETTLED:
        return outcome.status
    _note_retry_after(outcome.retry_after)
    raise StillUnscored(
        outcome.status,
        outcome.error or "",
        retryable=outcome.retryable and not around().stop.is_set(),
        retry_after=outcome.retry_after,
    )


_not_before: dict[UUID, float] = {}
_lock = threading.Lock()


def _wait_until_allowed(unscored: Unscored) -> None:
    """The first attempt here is the second of all: it waits too, for what the backend asked, or the base delay."""
    run = _run()
    with _lock:
        allowed = _not_before.pop(run.task_run.id, None) if run else None
    if allowed is None and (run is None or run.task_run.run_count <= 1):
        allowed = time.monotonic() + max(unscored.retry_after or 0.0, policy.RETRY_BASE_SECONDS)
    if allowed is not None:
        around().stop.wait(max(0.0, min(allowed - time.monotonic(), policy.RETRY_DELAY_MAX)))


def _note_retry_after(seconds: float | None) -> None:
    run = _run()
    if run is not None and seconds:
        with _lock:
            _not_before[run.task_run.id] = time.monotonic() + seconds


def _run() -> TaskRunContext | None:
    return TaskRunContext.get()


def _task_run_id() -> str | None:
    run = _run()
    return str(run.task_run.id) if run is not None else None
