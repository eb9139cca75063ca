"""The log of a run's page: what a person wants to have read there when something went wrong.

A line is a row in Prefect's database, so there is one for what could not be scored or replayed, and for each step of
a run, not for each scoring.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from prefect import get_run_logger

from rejudge.models.safe_text import one_line
from rejudge.scoring.batch import Batch
from rejudge.scoring.chunk import Unscored
from rejudge.store.replays import Replay
from rejudge.tasks import policy


def tell(message: str, *, level: int = logging.INFO) -> None:
    """Write a line into the log of the flow run."""
    get_run_logger().log(level, "%s", one_line(message, limit=policy.LINE_CHARACTERS))


def tell_unscored(batch: Batch, unscored: Sequence[Unscored], *, before: int) -> None:
    """Say which scorings gave no score, and why.

    Args:
        before: How many were told of already: past `policy.UNSCORED_TOLD` nobody reads on.
    """
    for one in unscored[: max(0, policy.UNSCORED_TOLD - before)]:
        who = batch.judges[one.judge].requested.reference
        tell(f"{who} on session {one.session_id} {one.status}: {one.error}", level=logging.WARNING)
    if before <= policy.UNSCORED_TOLD < before + len(unscored):
        tell("there are more of these: `rejudge scoring list` has them all", level=logging.WARNING)


def tell_replay(replay: Replay) -> None:
    """Say how a replay ended."""
    went = f"replay {replay.number} {replay.status}"
    failed = replay.status != "completed"
    tell(f"{went}: {replay.error}" if replay.error else went, level=logging.WARNING if failed else logging.INFO)
