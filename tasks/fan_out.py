"""The fan-out: a batch as chunks, each a task run, and the failures worth another try as task runs of their own."""

from __future__ import annotations

import contextlib
import logging
import queue
from collections import Counter
from collections.abc import Sequence
from typing import Any

from prefect.client.schemas.objects import State
from prefect.futures import PrefectFuture
from prefect.utilities.annotations import opaque

from rejudge import settings
from rejudge.scoring.batch import Batch, Chunk, split_by_pace
from rejudge.scoring.chunk import ChunkEnd, Unscored
from rejudge.tasks import policy
from rejudge.tasks.pacing import Pacer
from rejudge.tasks.publishing import publish_progress
from rejudge.tasks.scoring import StillUnscored, score_again, score_sessions
from rejudge.tasks.states import result_of
from rejudge.tasks.surroundings import around
from rejudge.tasks.telling import tell, tell_unscored
from rejudge.tasks.working import Work


def score_in_chunks(at: Work) -> None:
    """Score what the batch still has to do, in chunks of measured size, a bounded number at once."""
    computing, waiting = split_by_pace(at.batch)
    workers = settings.current().workers
    budget = policy.TASK_RUNS_MAX - policy.ESCALATIONS_IN_ALL
    pacers = [
        Pacer(sessions, slow, workers, max(1, budget * len(sessions) // (len(computing) + len(waiting))))
        for sessions, slow in ((computing, False), (waiting, True))
        if sessions
    ]
    tell(f"{at.batch.to_do:,} scorings to do, of {at.batch.total:,} on {len(at.batch.session_ids):,} sessions")
    ended: queue.SimpleQueue[tuple[Pacer, PrefectFuture[Any]]] = queue.SimpleQueue()
    running: Counter[bool] = Counter()
    while True:
        for pacer in pacers:
            while _may_begin(pacer, running, workers):
                running[pacer.slow] += 1
                _begin(at, pacer, ended)
        if not running.total():
            return
        with contextlib.suppress(queue.Empty):
            pacer, future = ended.get(timeout=policy.LOOK_SECONDS)
            running[pacer.slow] -= 1
            _end(at, pacer, future)
        if at.progress_is_due:
            publish_progress(at)


def score_once_more(at: Work) -> int:
    """Try again, each in a task run of its own, what failed in a way that another time may not.

    In waves: where a whole wave comes to nothing, its backend is down, and the rest is left for another day.

    Returns:
        How many retryable failures were not tried again.
    """
    chosen, left_over = _worth_another_try(at)
    for judge in sorted({one.judge for one in chosen}):
        theirs = [one for one in chosen if one.judge == judge]
        while theirs and not around().stop.is_set():
            wave, theirs = theirs[: policy.ESCALATION_WAVE], theirs[policy.ESCALATION_WAVE :]
            if not _try_again(at, wave):
                break
        left_over += len(theirs)
    return left_over


def _try_again(at: Work, wave: Sequence[Unscored]) -> bool:
    """Whether any of these could be settled."""
    futures = []
    for one in wave:
        title = f"again: {at.batch.judges[one.judge].requested.reference} on session {one.session_id}"
        around().tally.add()
        whole: Any = opaque(one)  # not searched for futures
        futures.append((one, score_again.submit(title, whole)))
    settled = False
    for one, future in futures:
        future.wait()
        settled |= _settle(at, one, future.state)
    return settled


def _may_begin(pacer: Pacer, running: Counter[bool], workers: int) -> bool:
    if not pacer.left or around().stop.is_set():
        return False
    return running[pacer.slow] < pacer.at_once and running.total() < workers


def _begin(at: Work, pacer: Pacer, ended: queue.SimpleQueue[tuple[Pacer, PrefectFuture[Any]]]) -> None:
    first = pacer.taken + 1
    chunk = pacer.take()
    around().tally.add()
    whole: Any = opaque(chunk)  # not searched for futures
    future = score_sessions.submit(_title(at.batch, chunk, first, len(pacer.sessions)), whole)
    future.add_done_callback(lambda done: ended.put((pacer, done)))


def _end(at: Work, pacer: Pacer, future: PrefectFuture[Any]) -> None:
    future.wait()  # it is done; this makes its state the last one
    result = result_of(future.state)
    if isinstance(result, ChunkEnd):
        pacer.learn(result.seconds_per_session)
        tell_unscored(at.batch, result.unscored, before=at.tally.ended - at.tally.count("scored"))
        at.tally.add(result)
    else:
        tell(f"a chunk was not stored, and is still to do: {result}", level=logging.WARNING)
        at.tally.lost.append(str(result))


def _title(batch: Batch, chunk: Chunk, first: int, of: int) -> str:
    """What a chunk's run is called: who judges which part of how many."""
    names = [batch.judges[position].requested.reference for position in chunk.judges]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    last = first + len(chunk.sessions) - 1
    return f"{shown} on sessions {first:,} to {last:,} of {of:,}"


def _worth_another_try(at: Work) -> tuple[list[Unscored], int]:
    retryable = [one for one in at.tally.unscored if one.retryable]
    chosen: list[Unscored] = []
    by_judge: Counter[int] = Counter()
    for one in retryable:
        too_long = (one.retry_after or 0.0) > policy.RETRY_DELAY_MAX
        room = by_judge[one.judge] < policy.ESCALATIONS_MAX and len(chosen) < policy.ESCALATIONS_IN_ALL
        if room and not too_long:
            by_judge[one.judge] += 1
            chosen.append(one)
    return chosen, len(retryable) - len(chosen)


def _settle(at: Work, one: Unscored, state: State[Any]) -> bool:
    """Count how one that was tried again ended; whether it is settled."""
    result = result_of(state)
    if isinstance(result, str):
        at.tally.settle(one, result, one.error)
    elif isinstance(result, StillUnscored):
        at.tally.settle(one, result.status, result.error)
    return isinstance(result, str)
