"""The frame of a single replay: asked for, run, scored, published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from rejudge.api import replaying
from rejudge.models.requests import ReplayRequest
from rejudge.models.safe_text import one_line
from rejudge.scoring.batch import Judge
from rejudge.scoring.pool import WorkerPool
from rejudge.scoring.report import BatchReport
from rejudge.store.engine import Database
from rejudge.store.replays import Replay
from rejudge.tasks.evaluating import open_database
from rejudge.tasks.experimenting import score_sessions_of
from rejudge.tasks.judges import find_judges
from rejudge.tasks.pools import make_pool
from rejudge.tasks.publishing_replay import publish_replay
from rejudge.tasks.replaying import Replayed, replay_all
from rejudge.tasks.surroundings import in_surroundings


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay came to."""

    replay: Replay
    created: bool
    """False where the same replay was there already."""
    scorings: BatchReport | None = None
    url: str | None = None
    """The flow run's page."""

    @property
    def exit_code(self) -> int:
        """0 where it completed and everything is scored; 8 otherwise."""
        scored = self.scorings is None or self.scorings.exit_code == 0
        return 0 if self.replay.status == "completed" and scored else 8


@dataclass(frozen=True, slots=True)
class ReplayWork:
    """One replay at work."""

    database: Database
    request: ReplayRequest
    replay: Replay
    created: bool
    judges: list[Judge]
    pool: WorkerPool


@contextmanager
def at_replay(request: ReplayRequest) -> Iterator[ReplayWork]:
    """The replay of a request, with its evaluators resolved."""
    with in_surroundings() as by:
        database = open_database()
        judges = find_judges(database, request.evaluators, ask_prefect=True)
        replay, created = replaying.ask(database, request)
        pool = by.pool or make_pool(judges)
        try:
            yield ReplayWork(database, request, replay, created, judges, pool)
        finally:
            pool.close()


def replay_one(at: ReplayWork) -> Replayed:
    """Run the replay, where it has not ended yet."""
    return replay_all([at.replay], title=lambda _: f"replay session {at.request.session}")


def score_result(at: ReplayWork, replayed: Replayed) -> BatchReport | None:
    """Judge the result session and its baseline, where there are evaluators and a result."""
    results = [one.result_session_id for one in replayed.ended if one.result_session_id is not None]
    if not at.judges or not results:
        return None
    session_ids = [at.replay.baseline_session_id, *results]
    return score_sessions_of(at.database, at.pool, session_ids, at.judges, at.request.evaluators)


def finish_replay(at: ReplayWork, replayed: Replayed, scorings: BatchReport | None) -> State[Any]:
    """Publish what the replay came to, and end with the state that says so."""
    if not replayed.ended:
        return Failed(name="NotReplayed", message=one_line("; ".join(replayed.lost) or "it was interrupted"))
    report = ReplayReport(replayed.ended[0], at.created, scorings)
    message = publish_replay(at.database, report.replay)
    if report.exit_code == 0:
        return Completed(name="Replayed", message=message, data=report)
    return Failed(name="DoneInPart", message=message, data=report)
