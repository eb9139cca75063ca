"""The task runner of every flow: threads, and a bounded number of them."""

from __future__ import annotations

from typing import Any

from prefect.task_runners import ThreadPoolTaskRunner

from rejudge.tasks import policy


def threads() -> Any:
    """A thread pool; without a bound Prefect starts a thread a task run."""
    return ThreadPoolTaskRunner(max_workers=policy.THREADS)
