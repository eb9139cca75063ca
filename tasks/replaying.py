"""The replay tasks: one or several replays of sessions, each in a process of its own."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.futures import PrefectFuture

from rejudge import settings
from rejudge.api.replaying import perform
from rejudge.errors import ReplayError, StoreError
from rejudge.store.replays import ENDED, Replay
from rejudge.tasks import policy
from rejudge.tasks.evaluating import flow_run_id, open_database
from rejudge.tasks.states import result_of
from rejudge.tasks.surroundings import Progress, around, report
from rejudge.tasks.telling import tell, tell_replay
from rejudge.tasks.working import stopped


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of the replays that were asked for."""

    ended: tuple[Replay, ...]
    lost: tuple[str, ...] = ()
    """Why a replay could not be run at all, one line each."""


def may_help(_task: Any, _run: Any, state: Any) -> bool:
    """Only infrastructure is tried again: an agent that failed is a result."""
    return isinstance(result_of(state), ReplayError | StoreError)


@task(
    cache_policy=NO_CACHE,
    task_run_name="{title}",
    retries=policy.REPLAY_RETRIES,
    retry_delay_seconds=policy.RETRY_BASE_SECONDS,
    retry_jitter_factor=policy.RETRY_JITTER,
    retry_condition_fn=may_help,
)
def replay_sessions(title: str, replay_ids: list[str]) -> list[Replay]:
    """Run replays that were asked for, one after the other, and store each as it ends."""
    database = open_database()
    stop = stopped()
    return [perform(database, one, flow_run_id=flow_run_id(), canceled=stop) for one in replay_ids if not stop()]


def replay_all(replays: Sequence[Replay], *, title: Callable[[Sequence[Replay]], str]) -> Replayed:
    """Run replays, a bounded number at once; those that have ended are not run again."""
    size = max(1, -(-len(replays) // policy.REPLAY_TASK_RUNS_MAX))
    waiting = [replays[start : start + size] for start in range(0, len(replays), size)]
    done: queue.SimpleQueue[tuple[Sequence[Replay], PrefectFuture[Any]]] = queue.SimpleQueue()
    ended: list[Replay] = []
    lost: list[str] = []
    running = 0
    while waiting or running:
        while waiting and running < settings.current().workers and not around().stop.is_set():
            _submit(waiting.pop(0), title, done)
            running += 1
        if not running:
            break
        part, future = done.get()
        running -= 1
        future.wait()
        result = result_of(future.state)
        if isinstance(result, list):
            for one in (one for one in result if one.status in ENDED):
                tell_replay(one)
                ended.append(one)
        else:
            lost.append(f"{title(part)}: {result}")
            tell(lost[-1], level=logging.WARNING)
        report(Progress(len(ended), len(replays), "replays"))
    return Replayed(tuple(ended), tuple(lost))


def _submit(
    part: Sequence[Replay],
    title: Callable[[Sequence[Replay]], str],
    done: queue.SimpleQueue[tuple[Sequence[Replay], PrefectFuture[Any]]],
) -> None:
    around().tally.add()
    future = replay_sessions.submit(title(part), [one.id for one in part])
    future.add_done_callback(lambda finished: done.put((part, finished)))
