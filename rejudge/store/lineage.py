"""Lineage: up to the session that is no replay, and down to everything that was made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, select, tuple_

from rejudge.models.lineage import Lineage, LineageReplay
from rejudge.models.session import Session
from rejudge.store.engine import Database
from rejudge.store.reading import read_sessions, session_query
from rejudge.store.replays import Replay, replay_query
from rejudge.store.selecting import resolve_ids
from rejudge.store.tables import core

_BATCH = 500


def lineage_of(database: Database, reference: str) -> Lineage:
    """The whole tree that a session stands in, from the session that everything in it was made from.

    Raises:
        NotFound: Where it is not there.
    """
    with database.read() as connection:
        [session_id] = resolve_ids(connection, [reference])
        sessions, replays = _below(connection, _root(connection, session_id))
        places = _fork_places(connection, replays)
    return _tree(sessions, replays, places)


def _root(connection: Connection, session_id: str) -> str:
    seen = {session_id}
    while True:
        query = select(core.sessions.c.parent_session_id).where(core.sessions.c.id == session_id)
        parent = connection.execute(query).scalar()
        if parent is None or parent in seen:
            return session_id
        session_id = parent
        seen.add(parent)


def _below(connection: Connection, root: str) -> tuple[dict[str, Session], list[Replay]]:
    """Every session at and under the root, parents first, and the replays among them."""
    found: dict[str, Session] = {}
    replays: list[Replay] = []
    level: Collection[str] = [root]
    condition = core.sessions.c.id
    while level:
        read = _sessions(connection, condition, level)
        fresh = [one for one in read if one.id not in found]
        found.update({one.id: one for one in fresh})
        level = [one.id for one in fresh]
        condition = core.sessions.c.parent_session_id
        for batch in _batches(level):
            query = replay_query().where(core.replays.c.baseline_session_id.in_(batch))
            replays += [Replay(*row) for row in connection.execute(query)]
    return found, replays


def _sessions(connection: Connection, column: ColumnElement[Any], ids: Collection[str]) -> list[Session]:
    read: list[Session] = []
    for batch in _batches(list(ids)):
        query = session_query().where(column.in_(batch)).order_by(core.sessions.c.number)
        read += read_sessions(connection, query)
    return read


def _fork_places(connection: Connection, replays: Sequence[Replay]) -> Mapping[tuple[str, str], str]:
    """By session and node, where a fork left it: the node's place and what it called."""
    node = core.nodes.c
    wanted = list(
        {(one.baseline_session_id, str(one.plan["fork_point"])) for one in replays if one.plan["fork_point"]}
    )
    places: dict[tuple[str, str], str] = {}
    for start in range(0, len(wanted), _BATCH):
        query = select(node.session_id, node.id, node.position, node.node_type, node.tool_name, node.model, node.name)
        batch = wanted[start : start + _BATCH]
        for session_id, node_id, position, kind, tool, model, name in connection.execute(
            query.where(tuple_(node.session_id, node.id).in_(batch))
        ):
            called = tool or (model if kind == "llm_call" else None) or name
            places[(session_id, node_id)] = f"{position} {_KINDS.get(kind, kind)} {called}"
    return places


_KINDS = {"llm_call": "model", "tool_call": "tool", "subagent_call": "sub-agent"}


def _tree(
    sessions: Mapping[str, Session], replays: Sequence[Replay], places: Mapping[tuple[str, str], str]
) -> Lineage:
    made = {one.result_session_id: one for one in replays if one.result_session_id is not None}
    open_ends: dict[str, list[Replay]] = defaultdict(list)
    for one in replays:
        if one.result_session_id is None:
            open_ends[one.baseline_session_id].append(one)
    children: dict[str | None, list[Lineage]] = defaultdict(list)
    # The last first: what is below a session is whole before the session is.
    for session in reversed(list(sessions.values())):
        own = made.get(session.id)
        below = [*reversed(children[session.id]), *(_open_end(one, places) for one in open_ends[session.id])]
        lineage = Lineage(
            id=session.id,
            number=session.number,
            agent=session.agent,
            agent_version=session.agent_version,
            origin=session.origin,
            status=session.status,
            replay=_replay(own, places) if own is not None else None,
            children=tuple(below),
        )
        children[session.parent_session_id if session.parent_session_id in sessions else None].append(lineage)
    [root] = children[None]
    return root


def _open_end(replay: Replay, places: Mapping[tuple[str, str], str]) -> Lineage:
    return Lineage(
        agent=replay.agent,
        agent_version=replay.agent_version,
        status=replay.status,
        replay=_replay(replay, places),
    )


def _replay(one: Replay, places: Mapping[tuple[str, str], str]) -> LineageReplay:
    node_id = one.plan["fork_point"]
    return LineageReplay(
        id=one.id,
        number=one.number,
        status=one.status,
        error=one.error,
        trial=one.trial,
        agent_version=one.agent_version,
        override=one.plan["override"],
        fork_point=places.get((one.baseline_session_id, node_id), node_id) if node_id else None,
        fork_node_id=node_id,
        experiment_run_id=one.experiment_run_id,
    )


def _batches(values: Sequence[str]) -> list[Sequence[str]]:
    return [values[start : start + _BATCH] for start in range(0, len(values), _BATCH)]
