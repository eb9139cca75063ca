"""The evaluators' processes, as the settings want them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rejudge import settings
from rejudge.scoring.batch import Judge
from rejudge.scoring.pool import WorkerPool
from rejudge.tasks.connections import held_variables


def make_pool(judges: Iterable[Judge] = ()) -> WorkerPool:
    """A pool of evaluator processes, none of them started yet.

    Args:
        judges: Who will score: what holds a connection of one is kept from the others.
    """
    chosen = settings.current()
    return WorkerPool(
        settings.environment_with({}),
        environments=chosen.home / "environments",
        withheld=sorted({name for judge in judges for name in held_variables(judge.assignment.spec)}),
        idle=2 * chosen.workers,
    )


def check_judges(judges: Sequence[Judge]) -> None:
    """Loads every evaluator with its params in a process of its own, and asks it about rules between them.

    Raises:
        UsageError: For the first one that cannot be used.
    """
    if judges:
        with make_pool(judges) as pool:
            pool.check([judge.assignment for judge in judges])
