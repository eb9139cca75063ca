"""The spans that stored sessions were assembled from, so that late ones can join them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import select

from rejudge.store.engine import Database
from rejudge.store.tables import core

_BATCH = 500


@dataclass(frozen=True, slots=True)
class StoredSource:
    """What the store holds of one session's spans."""

    session_id: str
    source: str
    external_id: str
    trace_ids: tuple[str, ...]
    spans: bytes


def sources_of(
    database: Database, agent: str, trace_ids: Collection[str], keys: Collection[tuple[str, str]]
) -> Iterator[StoredSource]:
    """The sources of an agent's sessions that hold one of these traces, or are known by one of these keys.

    Args:
        keys: Pairs of source and external id.
    """
    sessions, traces, source = core.sessions.c, core.session_traces.c, core.session_sources.c
    with database.read() as connection:
        agent_id = connection.execute(select(core.agents.c.id).where(core.agents.c.name == agent)).scalar()
        if agent_id is None:
            return
        found: dict[str, tuple[str, str]] = {}
        wanted = set(keys)
        mine = select(sessions.id, sessions.source, sessions.external_id).where(sessions.agent_id == agent_id)
        for batch in _batches(sorted({external_id for _, external_id in wanted})):
            for row in connection.execute(mine.where(sessions.external_id.in_(batch))):
                if (row[1], row[2]) in wanted:
                    found[row[0]] = (row[1], row[2])
        for batch in _batches(sorted(trace_ids)):
            # Not a join: SQLite would begin it with every session of the agent.
            holding = select(traces.session_id).where(traces.trace_id.in_(batch))
            ids = list(connection.execute(holding.distinct()).scalars())
            if ids:
                for row in connection.execute(mine.where(sessions.id.in_(ids))):
                    found[row[0]] = (row[1], row[2])
        for batch in _batches(sorted(found)):
            held: dict[str, list[str]] = {one: [] for one in batch}
            query = select(traces.session_id, traces.trace_id).where(traces.session_id.in_(batch))
            for session_id, trace_id in connection.execute(query.order_by(traces.trace_id)):
                held[session_id].append(trace_id)
            spans = select(source.session_id, source.spans).where(source.session_id.in_(batch))
            for session_id, blob in connection.execute(spans.order_by(source.session_id)).all():
                yield StoredSource(session_id, *found[session_id], tuple(held[session_id]), bytes(blob))


def _batches(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))
