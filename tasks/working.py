"""What the tasks of one flow run share: the batch, the database, the evaluators' processes.

Reached through a context variable, which Prefect hands to its task threads; a task's arguments are ids and titles.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from rejudge.errors import UsageError
from rejudge.scoring.batch import Batch
from rejudge.scoring.pool import WorkerPool
from rejudge.scoring.report import Tally
from rejudge.store.engine import Database
from rejudge.tasks import policy
from rejudge.tasks.surroundings import Progress, around, report


@dataclass(slots=True)
class Work:
    """One batch at work."""

    batch: Batch
    database: Database
    pool: WorkerPool
    tally: Tally = field(default_factory=Tally)
    flow_run_id: str | None = None
    done: int = 0
    """Scorings stored so far."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Global limits by name, as far as they were looked up; see `rejudge.tasks.limits`."""
    progress_artifact: UUID | None = None
    last_progress: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, scorings: int) -> None:
        """More scorings are stored: tell the terminal."""
        with self.lock:
            self.done += scorings
            done = self.done
        report(Progress(done, self.batch.to_do, "scorings"))

    @property
    def progress_is_due(self) -> bool:
        """Whether the progress artifact is old enough to be written again; True at most once in a while."""
        now = time.monotonic()
        if now - self.last_progress < policy.PROGRESS_SECONDS:
            return False
        self.last_progress = now
        return True


_current: ContextVar[Work | None] = ContextVar("rejudge_work", default=None)


def work() -> Work:
    """The batch that the task which asks belongs to."""
    current = _current.get()
    if current is None:
        raise UsageError(
            "this task runs inside a flow of rejudge, in the flow's own process",
            mend="run the flow with a thread pool task runner",
        )
    return current


@contextmanager
def working(at: Work) -> Iterator[Work]:
    """Runs a block, and every task begun in it, at this batch; its processes end with it."""
    token = _current.set(at)
    try:
        yield at
    except BaseException:
        around().stop.set()
        at.pool.kill()
        raise
    finally:
        _current.reset(token)
        at.pool.close()


def stopped() -> Callable[[], bool]:
    """Asks whether the command was interrupted."""
    return around().stop.is_set
