"""A batch: which sessions, judged by what, and what of it is still to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rejudge.errors import UsageError
from rejudge.models.requests import EvaluationRequest, Mode
from rejudge.scoring.outcome import Assignment
from rejudge.store.engine import Database
from rejudge.store.scorings import Requested, settled
from rejudge.store.selecting import select_sessions


@dataclass(frozen=True, slots=True)
class Judge:
    """One evaluator version with its params: one column of a batch."""

    requested: Requested
    """What stands on the rows."""
    assignment: Assignment
    """What its process is given."""
    connection: str | None = None
    """Name of its credentials."""

    @property
    def is_slow(self) -> bool:
        """Whether it waits for something outside, so that several sessions at once make sense."""
        return self.assignment.spec.mode == "slow"

    @property
    def title(self) -> str:
        """``name@number``, and that it has params where it has."""
        return f"{self.requested.reference}{' (params)' if self.requested.params else ''}"


@dataclass(frozen=True, slots=True)
class Batch:
    """What was asked for, resolved."""

    session_ids: tuple[str, ...]
    judges: tuple[Judge, ...]
    todo: Mapping[str, tuple[int, ...]]
    """By session, in order: positions in `judges` of those that still have to score it."""
    mode: Mode = "missing"
    in_progress: int = 0
    """Sessions left out because they have not ended."""
    stood_unscored: int = 0
    """Scorings that stand already and have no score, whatever is tried."""

    @property
    def total(self) -> int:
        """Scorings that the batch stands for."""
        return len(self.session_ids) * len(self.judges)

    @property
    def to_do(self) -> int:
        """Scorings that are still to be made."""
        return sum(map(len, self.todo.values()))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some sessions of a batch, and who judges each: what one task run does."""

    sessions: tuple[tuple[str, tuple[int, ...]], ...]
    """Session id and positions in the batch's judges."""
    slow: bool = False

    @property
    def judges(self) -> tuple[int, ...]:
        """Positions of everyone who judges a session of it, in order."""
        return tuple(sorted({position for _, judges in self.sessions for position in judges}))

    @property
    def scorings(self) -> int:
        """How many scorings it holds."""
        return sum(len(judges) for _, judges in self.sessions)


def plan_batch(
    database: Database,
    request: EvaluationRequest,
    judges: Sequence[Judge],
    *,
    session_ids: Sequence[str] | None = None,
) -> Batch:
    """What a request comes to: one anti-join against what is stored, per evaluator.

    Args:
        judges: The request's evaluators, resolved.
        session_ids: The selected sessions, where they were resolved before.

    Raises:
        NotFound: Where no session matches.
        UsageError: Where every session that matches is still in progress, or a judge is asked for twice.
    """
    _check_distinct(judges)
    in_progress = 0
    if session_ids is None:
        selected = select_sessions(database, request.selection)
        session_ids, in_progress = selected.session_ids, selected.in_progress
    if not session_ids:
        raise UsageError(
            f"all {in_progress} sessions that match are still in progress",
            mend="wait for their last spans, or choose others",
        )
    open_for: dict[str, list[int]] = {one: [] for one in session_ids}
    stood_unscored = 0
    for position, judge in enumerate(judges):
        known = {} if request.mode == "force" else settled(database, session_ids, judge.requested)
        stood_unscored += sum(not has_score for has_score in known.values())
        for one in session_ids:
            if one not in known:
                open_for[one].append(position)
    shared: dict[tuple[int, ...], tuple[int, ...]] = {}
    todo = {}
    for one, positions in open_for.items():
        if positions:
            key = tuple(positions)
            todo[one] = shared.setdefault(key, key)
    return Batch(tuple(session_ids), tuple(judges), todo, request.mode, in_progress, stood_unscored)


def split_by_pace(batch: Batch) -> tuple[list[tuple[str, tuple[int, ...]]], list[tuple[str, tuple[int, ...]]]]:
    """What is to do, apart: for the judges that compute, and for those that wait for something outside."""
    slow = frozenset(position for position, judge in enumerate(batch.judges) if judge.is_slow)
    computing, waiting = [], []
    for one, positions in batch.todo.items():
        here = tuple(position for position in positions if position not in slow)
        outside = tuple(position for position in positions if position in slow)
        if here:
            computing.append((one, here))
        if outside:
            waiting.append((one, outside))
    return computing, waiting


def chunks_of(sessions: Sequence[tuple[str, tuple[int, ...]]], size: int, *, slow: bool) -> Iterator[Chunk]:
    """These sessions in chunks of one size."""
    for start in range(0, len(sessions), size):
        yield Chunk(tuple(sessions[start : start + size]), slow)


def _check_distinct(judges: Sequence[Judge]) -> None:
    seen: set[tuple[str, str]] = set()
    for judge in judges:
        key = (judge.requested.reference, judge.requested.params_digest)
        if key in seen:
            raise UsageError(
                f"evaluator {judge.requested.reference} is asked for twice with the same params",
                mend="name it once, or give it other params",
            )
        seen.add(key)
