"""Scoring one chunk: each session loaded once, handed to its judges, and what comes back stored."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from rejudge.models.evaluation import DataType
from rejudge.models.failure_line import failure_line
from rejudge.scoring.batch import Batch, Chunk
from rejudge.scoring.outcome import Assignment, ScoringOutcome, SessionJob
from rejudge.store.engine import Database
from rejudge.store.reading import load_stored
from rejudge.store.scorings import Ended, write_ended

WRITE_SECONDS: Final = 3.0
"""Finished scorings wait no longer than this for the rest of their chunk before they are stored."""

_CUT_SHORT: Final = frozenset({"not_run", "crashed"})


class Scorer(Protocol):
    """What runs evaluators: a pool of their processes."""

    def score(
        self,
        assignments: Sequence[Assignment],
        jobs: Iterable[SessionJob],
        *,
        concurrency: int = 1,
        stop: Callable[[], bool] | None = None,
        may_begin: Callable[[], bool] = lambda: True,
    ) -> Iterator[ScoringOutcome]:
        """How each scoring ended, as they end; once `stop` says so, what was not begun ends ``not_run``.

        No session is begun before `may_begin` says so.
        """
        ...


@dataclass(frozen=True, slots=True)
class RunIds:
    """The Prefect runs that stand on the rows; None outside of Prefect."""

    flow_run_id: str | None = None
    task_run_id: str | None = None


@dataclass(frozen=True, slots=True)
class Unscored:
    """One scoring that gave no score."""

    session_id: str
    judge: int
    """Position in the batch's judges."""
    status: str
    error: str
    """Its first line."""
    retryable: bool = False
    retry_after: float | None = None


@dataclass(slots=True)
class ChunkEnd:
    """How a chunk ended."""

    statuses: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Scorings by judge and status."""
    unscored: list[Unscored] = field(default_factory=list)
    seconds_per_session: float | None = None
    """Measured without the start of an evaluator's process; None where one session says nothing."""


def score_chunk(
    database: Database,
    scorer: Scorer,
    batch: Batch,
    chunk: Chunk,
    *,
    ids: RunIds,
    on_scored: Callable[[int], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
    at_once: int = 1,
    may_begin: Callable[[], bool] = lambda: True,
) -> ChunkEnd:
    """Score a chunk and store every scoring and evaluation of it.

    One transaction, or one every `WRITE_SECONDS` where it takes longer; where it is cut short, what was finished is
    stored before the error goes on.

    Args:
        scorer: Runs the evaluators.
        on_scored: Told how many scorings have ended, as they are stored.
        stop: Asked whether to end early; what has not ended by itself then is as if it had not begun.
        at_once: Sessions in flight.
        may_begin: Asked before each session, until it says so.
    """
    wires = load_stored(database, [one for one, _ in chunk.sessions])
    digests = {str(wire.facts["id"]): str(wire.facts["digest"]) for wire in wires}
    places = {position: place for place, position in enumerate(chunk.judges)}
    assignments = [batch.judges[position].assignment for position in places]

    def jobs() -> Iterator[SessionJob]:
        for wire, (one, positions) in zip(wires, chunk.sessions, strict=True):
            yield SessionJob(wire, [(f"{one}/{position}", places[position]) for position in positions])

    end = ChunkEnd()
    waiting: list[Ended] = []

    def store() -> None:
        if waiting:
            write_ended(database, waiting, force=batch.mode == "force")
            on_scored(len(waiting))
            waiting.clear()

    first = stored = 0.0
    try:
        for outcome in scorer.score(assignments, jobs(), concurrency=at_once, stop=stop, may_begin=may_begin):
            if stop() and outcome.status in _CUT_SHORT:
                continue
            now = time.monotonic()
            first = first or now
            stored = stored or now
            waiting.append(_ended(batch, outcome, digests, ids))
            _count(end, outcome)
            if now - stored > WRITE_SECONDS or chunk.slow:
                store()
                stored = now
    finally:
        store()
    if len(wires) > 1:
        end.seconds_per_session = (time.monotonic() - first) / (len(wires) - 1)
    return end


def score_once(
    database: Database,
    scorer: Scorer,
    batch: Batch,
    session_id: str,
    judge: int,
    *,
    ids: RunIds,
    stop: Callable[[], bool] = lambda: False,
) -> ScoringOutcome:
    """Score one session by one judge, once more, and store how it ended."""
    (wire,) = load_stored(database, [session_id])
    job = SessionJob(wire, [(f"{session_id}/0", 0)])
    (outcome,) = scorer.score([batch.judges[judge].assignment], [job], stop=stop)
    if stop() and outcome.status in _CUT_SHORT:
        return outcome
    digests = {session_id: str(wire.facts["digest"])}
    ended = _ended(batch, outcome, digests, ids, judge=judge)
    write_ended(database, [ended])
    return outcome


def _ended(
    batch: Batch, outcome: ScoringOutcome, digests: dict[str, str], ids: RunIds, *, judge: int | None = None
) -> Ended:
    session_id, _, position = outcome.key.rpartition("/")
    return Ended(
        session_id=session_id,
        session_digest=digests[session_id],
        requested=batch.judges[int(position) if judge is None else judge].requested,
        status=outcome.status,
        results=[{**fields, "data_type": _data_type(fields)} for fields in outcome.results],
        error=outcome.error,
        retryable=outcome.retryable,
        attempts=outcome.attempts,
        started_at=datetime.now(UTC) - timedelta(seconds=outcome.duration_seconds),
        duration_seconds=outcome.duration_seconds,
        cost=outcome.cost,
        flow_run_id=ids.flow_run_id,
        task_run_id=ids.task_run_id,
    )


def _data_type(fields: Mapping[str, Any]) -> DataType:
    """What `EvaluationResult.data_type` says, of the fields that came back from the process that validated it."""
    if fields.get("unscored") is not None:
        return "unscored"
    if fields.get("value") is not None:
        return "str" if fields.get("score") is None else "categorical"
    return "bool" if isinstance(fields.get("score"), bool) else "float"


def _count(end: ChunkEnd, outcome: ScoringOutcome) -> None:
    session_id, _, position = outcome.key.rpartition("/")
    end.statuses[int(position), outcome.status] += 1
    if outcome.status != "scored":
        end.unscored.append(
            Unscored(
                session_id,
                int(position),
                outcome.status,
                failure_line(outcome.error) or "",
                outcome.retryable,
                outcome.retry_after,
            )
        )
