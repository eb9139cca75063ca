"""Writing sessions: each with all its nodes and payloads, or not at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias

import orjson
import sqlalchemy
import zstandard
from sqlalchemy import Connection, select, update

from rejudge.models.packs import PackWriter
from rejudge.models.recording import Recording
from rejudge.models.session import Node, PayloadBlobs, Session
from rejudge.store.agents import agent_id_for
from rejudge.store.bulk import insert_rows, insert_values
from rejudge.store.contents import read_packs, remove_contents
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now, take_numbers
from rejudge.store.merging import absorb
from rejudge.store.tables import core

Outcome: TypeAlias = Literal["new", "updated", "unchanged"]

_SESSION_FACTS: Final = [
    "external_id",
    "source",
    "origin",
    "status",
    "name",
    "framework",
    "user_id",
    "started_at",
    "ended_at",
    "error",
    "llm_call_count",
    "llm_error_count",
    "tool_call_count",
    "tool_error_count",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "reasoning_tokens",
    "cost",
    "cost_status",
    "recorded_cost",
    "digest",
    "complete",
]
_NODE_FACTS: Final = tuple(
    column.name
    for column in core.nodes.columns
    if column.name not in ("session_id", "position", "link_ids", "payload_ref", "attributes_ref")
)
_NODE_COLUMNS: Final = (*_NODE_FACTS, "session_id", "position", "link_ids", "payload_ref", "attributes_ref")
_node_facts_of: Final = itemgetter(*_NODE_FACTS)
_ROWS_AT_ONCE: Final = 2_000
"""Nodes of one session after which rows are inserted: they need not all lie in memory."""
_CONTENT_TABLES: Final = (core.session_packs, core.session_sources, core.session_traces)
_SESSION_LISTS: Final = ("tool_names", "agents", "models", "providers")


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of one recording."""

    outcome: Outcome
    session_id: str
    number: int


@dataclass(frozen=True, slots=True)
class Placement:
    """What the store adds to recordings: whose they are and where they come from."""

    agent: str
    tags: tuple[str, ...] = ()
    agent_version: int | None = None
    origin: str | None = None
    """Instead of the recording's own."""
    parent_session_id: str | None = None
    """The baseline of a replay: payloads they share are stored once."""


def save_recordings(database: Database, recordings: Sequence[Recording], placement: Placement) -> list[Saved]:
    """Stores recordings in one transaction: new ones are added, known ones replaced where they differ.

    A recording is known by agent, source and external id; the same digest again changes nothing but tags.

    Raises:
        StoreError: Where the database cannot be written; then nothing of these recordings is.
    """
    with database.write() as connection:
        return write_recordings(connection, recordings, placement)


def write_recordings(connection: Connection, recordings: Sequence[Recording], placement: Placement) -> list[Saved]:
    """As `save_recordings`, within a transaction that is under way."""
    agent_id = agent_id_for(connection, placement.agent)
    known = _known(connection, agent_id, [recording.view.session.external_id for recording in recordings])
    fresh = sum(1 for recording in recordings if _key(recording) not in known and not recording.replaces)
    number = take_numbers(connection, "session", fresh) if fresh else 0
    writes = _Writes(connection, placement, agent_id)
    saved = []
    for recording in recordings:
        earlier = known.get(_key(recording))
        if recording.replaces:
            earlier = absorb(connection, recording.replaces, earlier)
        if earlier is None:
            result = writes.add(recording, number)
            number += 1
            known[_key(recording)] = (result.session_id, result.number, recording.view.session.digest)
        else:
            result = writes.replace(recording, *earlier)
        saved.append(result)
    writes.flush()
    add_tags(connection, [one.session_id for one in saved], placement.tags)
    return saved


def add_tags(connection: Connection, session_ids: Iterable[str], tags: Collection[str]) -> None:
    """Puts tags on sessions; a tag that is there stays."""
    rows = [{"session_id": session_id, "name": tag} for session_id in session_ids for tag in dict.fromkeys(tags)]
    if rows:
        connection.execute(_insert_missing(connection, core.tags), rows)


class _Writes:
    """Rows on their way, inserted together."""

    def __init__(self, connection: Connection, placement: Placement, agent_id: str) -> None:
        self._connection = connection
        self._placement = placement
        self._agent_id = agent_id
        self._sessions: list[dict[str, Any]] = []
        self._packs: list[dict[str, Any]] = []
        self._nodes: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
        """By type: those of one type leave the same columns empty."""
        self._rows: dict[sqlalchemy.Table, list[dict[str, Any]]] = {table: [] for table in _CONTENT_TABLES}
        parent = placement.parent_session_id
        self._shared = read_packs(connection, parent) if parent else []
        self._compress = zstandard.ZstdCompressor(level=3).compress

    def add(self, recording: Recording, number: int) -> Saved:
        session_id = new_id()
        made = now()
        row = self._session_row(recording.view.session, len(recording.view.nodes))
        row.update(id=session_id, number=number, created_at=made, updated_at=made)
        self._sessions.append(row)
        self._add_contents(session_id, recording)
        return Saved("new", session_id, number)

    def replace(self, recording: Recording, session_id: str, number: int, digest: str) -> Saved:
        if digest == recording.view.session.digest:
            return Saved("unchanged", session_id, number)
        remove_contents(self._connection, session_id)
        row = self._session_row(recording.view.session, len(recording.view.nodes))
        self._connection.execute(
            update(core.sessions).where(core.sessions.c.id == session_id).values(**row, updated_at=now())
        )
        self._add_contents(session_id, recording)
        return Saved("updated", session_id, number)

    def flush(self) -> None:
        self._flush_nodes()
        if self._packs:
            self._connection.execute(_insert_missing(self._connection, core.packs), self._packs)
        for table, rows in self._rows.items():
            insert_rows(self._connection, table, rows)

    def _flush_nodes(self) -> None:
        insert_rows(self._connection, core.sessions, self._sessions)
        self._sessions.clear()
        for nodes in self._nodes.values():
            insert_values(self._connection, core.nodes, _NODE_COLUMNS, nodes)
            nodes.clear()

    def _session_row(self, session: Session, node_count: int) -> dict[str, Any]:
        facts = session.__dict__
        row = {name: facts[name] if name in facts else getattr(session, name) for name in _SESSION_FACTS}
        for name in _SESSION_LISTS:
            values = getattr(session, name)
            row[name] = list(values) if values else None
        payload = orjson.dumps([session.inputs, session.outputs, session.metadata])
        row.update(
            agent_id=self._agent_id,
            agent_version=self._placement.agent_version,
            origin=self._placement.origin or session.origin,
            node_count=node_count,
            parent_session_id=self._placement.parent_session_id or session.parent_session_id,
            payload=self._compress(payload),
        )
        return row

    def _add_contents(self, session_id: str, recording: Recording) -> None:
        packs = PackWriter(self._shared)
        for position, node in enumerate(recording.view.nodes):
            self._nodes[node.node_type].append(_node_values(session_id, position, node, packs))
            if position % _ROWS_AT_ONCE == _ROWS_AT_ONCE - 1:
                self._flush_nodes()
        for position, pack in enumerate(packs.packs()):
            if pack is not None:
                self._packs.append({"digest": pack.digest, "data": pack.data})
                self._rows[core.session_packs].append(
                    {"session_id": session_id, "position": position, "digest": pack.digest}
                )
        if recording.spans:
            self._rows[core.session_sources].append({"session_id": session_id, "spans": recording.spans})
        for trace_id in dict.fromkeys(recording.trace_ids):
            self._rows[core.session_traces].append({"session_id": session_id, "trace_id": trace_id})


def _node_values(session_id: str, position: int, node: Node, packs: PackWriter) -> tuple[Any, ...]:
    """In the order of `_NODE_COLUMNS`."""
    payload, attributes = node.blobs or _blobs_of(node)
    facts = node.__dict__
    return (
        *_node_facts_of(facts),
        session_id,
        position,
        facts["link_ids"] or None,
        None if payload is None else packs.add(payload),
        None if attributes is None else packs.add(attributes),
    )


def _blobs_of(node: Node) -> PayloadBlobs:
    inputs, outputs, attributes = node.inputs, node.outputs, node.attributes
    has_payload = inputs is not None or outputs is not None
    return (
        orjson.dumps([inputs, outputs]) if has_payload else None,
        orjson.dumps(attributes) if attributes else None,
    )


def _key(recording: Recording) -> tuple[str, str]:
    return recording.view.session.source, recording.view.session.external_id


def _known(
    connection: Connection, agent_id: str, external_ids: Sequence[str]
) -> dict[tuple[str, str], tuple[str, int, str]]:
    found: dict[tuple[str, str], tuple[str, int, str]] = {}
    known = core.sessions.c
    for start in range(0, len(external_ids), 500):
        rows = connection.execute(
            select(known.source, known.external_id, known.id, known.number, known.digest).where(
                known.agent_id == agent_id, known.external_id.in_(external_ids[start : start + 500])
            )
        )
        found.update({(source, external_id): (i, number, digest) for source, external_id, i, number, digest in rows})
    return found


def _insert_missing(connection: Connection, table: sqlalchemy.Table) -> Any:
    # One dialect is enough, and each costs some 50 ms to import.
    dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
    return dialect.insert(table).on_conflict_do_nothing()
