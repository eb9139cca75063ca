"""Global limits on what evaluators ask of a backend: Prefect's concurrency limits, shared by every flow on a server.

A limit named ``rejudge-<connection>`` (or ``rejudge-<provider>`` where no connection is named) holds for every
evaluator that uses it: without slot decay it bounds how many calls are in flight at once, with slot decay how many
are begun a second. There is none until somebody makes one::

    prefect gcl create rejudge-judge --limit 8 --slot-decay-per-second 4
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Self

from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency, rate_limit
from prefect.exceptions import ObjectNotFound

from rejudge.scoring.batch import Judge
from rejudge.tasks import policy
from rejudge.tasks.surroundings import around
from rejudge.tasks.working import Work


@dataclass(frozen=True, slots=True)
class Limit:
    """One global limit as it stands on the server."""

    name: str
    slots: int
    decays: bool
    """Whether it bounds a rate, and not how many are in flight."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What a piece of work may do within its limits."""

    at_once: int
    """Sessions in flight."""
    may_begin: Callable[[], bool]
    """Whether another session may be begun now; one that was told so counts as begun."""
    wait: Callable[[], None]
    """Waits until another session may be begun."""


def limits_on(at: Work, judges: Iterable[Judge]) -> list[Limit]:
    """The limits that there are on these judges; each is looked up once a flow run."""
    names = dict.fromkeys(name for judge in judges if (name := _name(judge)) is not None)
    for name in names:
        if name not in at.limits:
            at.limits[name] = _find(name)
    return [limit for name in names if (limit := at.limits[name]) is not None]


@contextmanager
def within(limits: list[Limit], *, wanted: int) -> Iterator[Allowance]:
    """Holds slots of the limits for the length of a block.

    Args:
        wanted: Sessions in flight, where no limit says less.
    """
    in_flight = [limit for limit in limits if not limit.decays]
    rates = [limit.name for limit in limits if limit.decays]
    at_once = max(1, min([wanted, *(limit.slots for limit in in_flight)]))

    with ExitStack() as stack:
        if in_flight:
            names = [limit.name for limit in in_flight]
            _wait(lambda seconds: stack.enter_context(concurrency(names, occupy=at_once, timeout_seconds=seconds)))
        if rates:
            turns = stack.enter_context(_Turns(rates))
            yield Allowance(at_once, turns.is_mine, turns.wait)
        else:
            yield Allowance(at_once, lambda: True, lambda: None)


class _Turns:
    """Turns under limits on a rate. Asked for in a thread: who waits for one still has sessions to look after."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._asking = ThreadPoolExecutor(1, thread_name_prefix="rejudge-turn")
        self._context = copy_context()  # Prefect's settings, and what stops the command
        self._asked: Future[None] | None = None
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._asking.shutdown(wait=False, cancel_futures=True)

    def is_mine(self) -> bool:
        """Whether it is our turn; the next one is asked for when this is called again."""
        if self._asked is None:
            self._asked = self._asking.submit(self._context.run, self.wait)
        if not self._asked.done():
            return False
        self._asked.result()
        self._asked = None
        return True

    def wait(self) -> None:
        """Return when it is our turn."""
        _wait(lambda seconds: rate_limit(self._names, timeout_seconds=seconds), unless=self._closed)


def _wait(attempt: Callable[[float], object], *, unless: threading.Event | None = None) -> None:
    """Tries until it comes about, or nobody wants it any more."""
    while not (around().stop.is_set() or (unless is not None and unless.is_set())):
        try:
            attempt(policy.SLOT_SECONDS)
        except TimeoutError:
            continue
        return


def _name(judge: Judge) -> str | None:
    spec = judge.assignment.spec
    backend = judge.connection or spec.provider
    return f"rejudge-{backend}" if judge.is_slow and backend else None


def _find(name: str) -> Limit | None:
    with get_client(sync_client=True) as client:
        try:
            found = client.read_global_concurrency_limit_by_name(name)
        except ObjectNotFound:
            return None
    return Limit(name, found.limit, found.slot_decay_per_second > 0) if found.active else None
