"""What a flow finds around it when it runs inside a command, and the plain defaults when a worker runs it.

Nothing here can be a flow's parameter: a database's URL may hold a password, and a callback is no JSON. Prefect
copies context variables into its task threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rejudge.scoring.pool import WorkerPool
    from rejudge.store.engine import Database


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a flow is."""

    done: int
    total: int
    what: str
    """What is counted, such as ``scorings``."""


@dataclass(slots=True)
class Tally:
    """Counts the task runs a flow handed to Prefect, to compare with what Prefect recorded."""

    task_runs: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, task_runs: int = 1) -> None:
        """Count task runs that were submitted; any thread may."""
        with self._lock:
            self.task_runs += task_runs


@dataclass(frozen=True, slots=True)
class Surroundings:
    """One command's own."""

    database: Database | None = None
    """None: the one that the settings name."""
    pool: WorkerPool | None = None
    """Evaluator processes that are up already; None: the flow starts its own."""
    on_progress: Callable[[Progress], None] | None = None
    session_ids: tuple[str, ...] | None = None
    """The sessions, where they are too many for a flow run's parameters."""
    in_process: bool = False
    """Whether a command, and not a worker, runs the flow."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the command was interrupted: nothing new is begun."""
    tally: Tally = field(default_factory=Tally)


_current: ContextVar[Surroundings | None] = ContextVar("rejudge_surroundings", default=None)


def around() -> Surroundings:
    """What is around the flow or task that asks."""
    return _current.get() or Surroundings()


@contextmanager
def surrounded(by: Surroundings) -> Iterator[Surroundings]:
    """Runs a block, and every flow and task begun in it, with these surroundings."""
    token = _current.set(by)
    try:
        yield by
    finally:
        _current.reset(token)


@contextmanager
def in_surroundings() -> Iterator[Surroundings]:
    """Runs a flow's block with the command's surroundings, or with some of its own where a worker runs the flow.

    What ends the block by force (an interrupt, a cancellation) ends its tasks too.
    """
    with surrounded(around()) as by:
        try:
            yield by
        except BaseException:
            by.stop.set()
            raise


def report(progress: Progress) -> None:
    """Tell the terminal, where there is one, how far the flow is."""
    listener = around().on_progress
    if listener is not None:
        listener(progress)
