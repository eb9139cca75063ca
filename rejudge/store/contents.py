"""What lies under a session: its nodes, payload packs, spans and traces."""

from __future__ import annotations

from sqlalchemy import Connection, delete, select

from rejudge.models.packs import Pack
from rejudge.store.tables import core


def read_packs(connection: Connection, session_id: str) -> list[Pack]:
    """The packs of a session, in address order."""
    rows = connection.execute(
        select(core.packs.c.digest, core.packs.c.data)
        .join(core.session_packs, core.session_packs.c.digest == core.packs.c.digest)
        .where(core.session_packs.c.session_id == session_id)
        .order_by(core.session_packs.c.position)
    )
    return [Pack(digest, data) for digest, data in rows]


def remove_contents(connection: Connection, session_id: str) -> None:
    """Removes a session's nodes, spans, traces, and the packs that no other session reads."""
    mine = select(core.session_packs.c.digest).where(core.session_packs.c.session_id == session_id)
    digests = list(connection.execute(mine).scalars())
    for table in (core.nodes, core.session_packs, core.session_sources, core.session_traces):
        connection.execute(delete(table).where(table.c.session_id == session_id))
    still_read = select(core.session_packs.c.digest)
    connection.execute(
        delete(core.packs).where(core.packs.c.digest.in_(digests), core.packs.c.digest.not_in(still_read))
    )
