"""Replays: asked for once, run once, whoever asks and however often it is interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, func, insert, or_, select, update

from rejudge.errors import NotFound
from rejudge.models.canonical import digest_of
from rejudge.models.recording import Recording
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now, take_numbers
from rejudge.store.tables import core
from rejudge.store.writing import Placement, write_recordings

ENDED: Final = ("completed", "failed", "timed_out", "crashed", "canceled")


@dataclass(frozen=True, slots=True)
class AskedReplay:
    """What makes a replay the same one."""

    baseline_session_id: str
    baseline_digest: str
    agent: str
    agent_version: int
    plan: dict[str, Any]
    """Override, policies and fork point, as plain JSON."""
    trial: int = 1
    experiment_run_id: str | None = None

    @property
    def identity(self) -> str:
        """Digest over baseline, agent version, plan and trial; in an experiment run, over the run too."""
        return digest_of(
            [
                self.baseline_session_id,
                self.baseline_digest,
                self.agent,
                self.agent_version,
                self.plan,
                self.trial,
                self.experiment_run_id,
            ]
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """A stored replay."""

    id: str
    number: int
    baseline_session_id: str
    result_session_id: str | None
    experiment_run_id: str | None
    agent: str
    agent_version: int
    trial: int
    plan: dict[str, Any]
    status: str
    error: str | None
    result: dict[str, Any] | None
    owner: str | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    flow_run_id: str | None


def ask_replay(database: Database, asked: AskedReplay, *, again: bool = False) -> tuple[Replay, bool]:
    """The replay of this identity, and whether it is new; two that race get the same one.

    One that was canceled is opened again, and counts as new: nothing came of it.

    Args:
        again: Make another beside the ones that are there.
    """
    with database.write() as connection:
        # The counter's row serialises writers on PostgreSQL, as BEGIN IMMEDIATE does on SQLite.
        number = take_numbers(connection, "replay", 0)
        replay = core.replays.c
        last = connection.execute(select(func.max(replay.sequence)).where(replay.identity == asked.identity)).scalar()
        if last is not None and not again:
            same = (replay.identity == asked.identity) & (replay.sequence == last)
            opened = connection.execute(
                update(core.replays)
                .where(same, replay.status == "canceled")
                .values(status="pending", error=None, result=None, started_at=None, ended_at=None, flow_run_id=None)
            )
            found = connection.execute(select(replay.id).where(same)).scalar_one()
            return _replay(connection, found), opened.rowcount == 1
        number = take_numbers(connection, "replay")
        made = new_id()
        connection.execute(
            insert(core.replays).values(
                id=made,
                number=number,
                identity=asked.identity,
                sequence=0 if last is None else last + 1,
                baseline_session_id=asked.baseline_session_id,
                experiment_run_id=asked.experiment_run_id,
                agent=asked.agent,
                agent_version=asked.agent_version,
                trial=asked.trial,
                plan=asked.plan,
                status="pending",
                created_at=now(),
            )
        )
        return _replay(connection, made), True


def begin_replay(
    database: Database, replay_id: str, owner: str, *, dead_owners: Sequence[str] = (), flow_run_id: str | None = None
) -> bool:
    """Takes a replay for running; False where another holds it or it has ended.

    Args:
        owner: Who runs it.
        dead_owners: Owners known to be gone: what they held may be taken.
    """
    replay = core.replays.c
    free = or_(replay.status == "pending", replay.owner.in_(dead_owners))
    with database.write() as connection:
        taken = connection.execute(
            update(core.replays)
            .where(replay.id == replay_id, replay.status.in_(["pending", "running"]), free)
            .values(status="running", owner=owner, started_at=now(), flow_run_id=flow_run_id)
        )
        return taken.rowcount == 1


def give_back_replay(database: Database, replay_id: str, owner: str) -> None:
    """Leaves a replay that could not be run to whoever comes next."""
    replay = core.replays.c
    with database.write() as connection:
        connection.execute(
            update(core.replays)
            .where(replay.id == replay_id, replay.status == "running", replay.owner == owner)
            .values(status="pending", owner=None, started_at=None)
        )


def end_replay(
    database: Database,
    replay_id: str,
    *,
    status: str,
    error: str | None = None,
    result: dict[str, Any] | None = None,
    recording: Recording | None = None,
) -> Replay:
    """Stores how a replay ended together with its session, in one transaction: both or neither.

    A replay that has ended stays as it is.
    """
    with database.write() as connection:
        replay = _replay(connection, replay_id)
        if replay.status in ENDED:
            return replay
        session_id = None
        if recording is not None:
            placement = Placement(
                agent=replay.agent,
                agent_version=replay.agent_version,
                origin="replay",
                parent_session_id=replay.baseline_session_id,
            )
            # No late span joins a replay: the spans that it was made from would be its payloads once more.
            whole = replace(recording, spans=b"")
            session_id = write_recordings(connection, [whole], placement)[0].session_id
        connection.execute(
            update(core.replays)
            .where(core.replays.c.id == replay_id)
            .values(
                status=status,
                error=error,
                result=result,
                result_session_id=session_id,
                ended_at=now(),
                owner=None,
            )
        )
        return _replay(connection, replay_id)


def find_replay(database: Database, reference: str) -> Replay:
    """A replay by its number, its id, or the id of its result session.

    Raises:
        NotFound: Where there is none.
    """
    replay = core.replays.c
    text = reference.strip().lower()
    with database.read() as connection:
        if text.isdigit() and len(text) < 10:
            condition = replay.number == int(text)
        elif len(text) == 36:
            condition = or_(replay.id == text, replay.result_session_id == text)
        else:
            raise NotFound(f"no replay {reference!r}", mend="list them: rejudge replay list")
        found = connection.execute(select(replay.id).where(condition)).scalar()
        if found is None:
            raise NotFound(f"no replay {reference!r}", mend="list them: rejudge replay list")
        return _replay(connection, found)


def list_replays(
    database: Database, *, experiment_run_id: str | None = None, baseline_session_id: str | None = None
) -> list[Replay]:
    """Replays by number; of one experiment run or one baseline where given."""
    replay = core.replays.c
    query = replay_query()
    if experiment_run_id is not None:
        query = query.where(replay.experiment_run_id == experiment_run_id)
    if baseline_session_id is not None:
        query = query.where(replay.baseline_session_id == baseline_session_id)
    with database.read() as connection:
        return [Replay(*row) for row in connection.execute(query)]


def replay_query() -> Select[Any]:
    """Every field of `Replay`, by number, to be narrowed."""
    replay = core.replays.c
    return select(*(replay[name] for name in Replay.__slots__)).order_by(replay.number)


def _replay(connection: Connection, replay_id: str) -> Replay:
    replay = core.replays.c
    query = select(*(replay[name] for name in Replay.__slots__)).where(replay.id == replay_id)
    return Replay(*connection.execute(query).one())
