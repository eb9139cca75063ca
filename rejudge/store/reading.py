"""Reading sessions: two or three statements for as many sessions as asked for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from sqlalchemy import Connection, Row, Select, select

from rejudge.errors import NotFound
from rejudge.models.session import Session, SessionView
from rejudge.models.wire import WireSession, session_of, view_of
from rejudge.store.engine import Database
from rejudge.store.tables import core

_NODE_COLUMNS: Final = (
    core.nodes.c.position.label("index"),
    *(column for column in core.nodes.columns if column.name not in ("session_id", "position")),
    core.nodes.c.session_id,
)
NODE_FIELDS: Final = tuple(column.name for column in _NODE_COLUMNS)
"""What each row of `WireSession.node_rows` holds, in order: as the database gives it, for it is decoded there."""

_SESSION_COLUMNS: Final = tuple(
    column for column in core.sessions.columns if column.name not in ("agent_id", "created_at", "updated_at")
)
_SESSION_TUPLES: Final = ("tool_names", "agents", "models", "providers")
_BATCH: Final = 500


def load_stored(database: Database, session_ids: Sequence[str]) -> list[WireSession]:
    """The sessions of these ids, in this order, each read once.

    Raises:
        NotFound: Where one of them is not there.
    """
    with database.read() as connection:
        heads = _heads(connection, session_ids)
        missing = [one for one in session_ids if one not in heads]
        if missing:
            raise NotFound(f"no session {missing[0]!r}", mend="list them: rejudge session list")
        parents = {facts["parent_session_id"] for facts, _ in heads.values()} - {None}
        baselines = _heads(connection, sorted(parents)) if parents else {}
        rows = _node_rows(connection, session_ids)
        packs = _packs(connection, session_ids)
    stored = []
    for one in session_ids:
        facts, payload = heads[one]
        baseline, baseline_payload = baselines.get(facts["parent_session_id"], (None, b""))
        stored.append(
            WireSession(
                facts, NODE_FIELDS, rows.get(one, []), packs.get(one, []), payload, baseline, baseline_payload
            )
        )
    return stored


def load_views(database: Database, session_ids: Sequence[str]) -> list[SessionView]:
    """The sessions of these ids with their nodes, in this order.

    Raises:
        NotFound: Where one of them is not there.
    """
    return [view_of(stored) for stored in load_stored(database, session_ids)]


def read_sessions(connection: Connection, query: Select[Any] | None = None) -> list[Session]:
    """Sessions without their nodes, in the order of the query.

    Args:
        query: A narrowing of `session_query`; all sessions by number where None.
    """
    rows = connection.execute(query if query is not None else session_query().order_by(core.sessions.c.number))
    heads = [_head(row) for row in rows]
    tags = _tags(connection, [facts["id"] for facts, _ in heads])
    for facts, _ in heads:
        facts["tags"] = tags.get(facts["id"], ())
    return [session_of(facts, payload) for facts, payload in heads]


def session_query() -> Select[Any]:
    """All columns of sessions and their agents' names, to be narrowed."""
    return select(*_SESSION_COLUMNS, core.agents.c.name.label("agent")).join(
        core.agents, core.agents.c.id == core.sessions.c.agent_id
    )


def _heads(connection: Connection, session_ids: Sequence[str]) -> dict[str, tuple[dict[str, Any], bytes]]:
    heads = {}
    for batch in _batches(session_ids):
        for row in connection.execute(session_query().where(core.sessions.c.id.in_(batch))):
            facts, payload = _head(row)
            heads[facts["id"]] = (facts, payload)
    for one, tags in _tags(connection, list(heads)).items():
        heads[one][0]["tags"] = tags
    return heads


def _head(row: Row[Any]) -> tuple[dict[str, Any], bytes]:
    facts = dict(row._mapping)
    payload = facts.pop("payload")
    for name in _SESSION_TUPLES:
        facts[name] = tuple(facts[name] or ())
    facts["tags"] = ()
    return facts, payload


def _tags(connection: Connection, session_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for batch in _batches(session_ids):
        query = select(core.tags.c.session_id, core.tags.c.name).where(core.tags.c.session_id.in_(batch))
        for session_id, name in connection.execute(query.order_by(core.tags.c.name)):
            found[session_id].append(name)
    return {session_id: tuple(names) for session_id, names in found.items()}


def _node_rows(connection: Connection, session_ids: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    rows: dict[str, list[tuple[Any, ...]]] = {}
    of_session = itemgetter(-1)
    for batch in _batches(session_ids):
        query = select(*_NODE_COLUMNS).where(core.nodes.c.session_id.in_(batch))
        result = connection.execute(query.order_by(core.nodes.c.session_id, core.nodes.c.position))
        # The driver's own rows: SQLAlchemy would convert every cell, and the reader of a `WireSession` does.
        cursor = result.cursor
        assert cursor is not None
        ids = {one.replace("-", ""): one for one in batch}
        for session_id, nodes in groupby(cursor.fetchall(), of_session):
            rows[ids[str(session_id).replace("-", "")]] = list(nodes)
        result.close()
    return rows


def _packs(connection: Connection, session_ids: Sequence[str]) -> dict[str, list[bytes | None]]:
    found: dict[str, list[bytes | None]] = defaultdict(list)
    for batch in _batches(session_ids):
        query = (
            select(core.session_packs.c.session_id, core.session_packs.c.position, core.packs.c.data)
            .join(core.packs, core.packs.c.digest == core.session_packs.c.digest)
            .where(core.session_packs.c.session_id.in_(batch))
            .order_by(core.session_packs.c.session_id, core.session_packs.c.position)
        )
        for session_id, position, data in connection.execute(query):
            packs = found[session_id]
            packs.extend([None] * (position - len(packs)))
            packs.append(bytes(data))
    return found


def _batches(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))
