"""The evaluators' processes, as the settings want them."""

from __future__ import annotations

from rejudge import settings
from rejudge.scoring.pool import WorkerPool


def make_pool() -> WorkerPool:
    """A pool of evaluator processes, none of them started yet."""
    chosen = settings.current()
    return WorkerPool(
        settings.environment_with({}),
        environments=chosen.home / "environments",
        idle=2 * chosen.workers,
    )
