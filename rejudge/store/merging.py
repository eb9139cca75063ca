"""Several stored sessions turn out to be one: a late root named the conversation they belong to."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select, update

from rejudge.store.contents import remove_contents
from rejudge.store.tables import core

Known = tuple[str, int, str]
"""Id, number and digest of a stored session."""


def absorb(connection: Connection, replaced: Sequence[str], survivor: Known | None) -> Known | None:
    """Folds the replaced sessions into one, which keeps what people attached to any of them.

    Args:
        replaced: Ids of sessions whose spans now belong to one session.
        survivor: The session already stored under the new identity, where there is one.

    Returns:
        The session that stays (with an empty digest: its contents are about to change); None where none of
        the replaced ones exists.
    """
    rows = connection.execute(
        select(core.sessions.c.id, core.sessions.c.number, core.sessions.c.digest)
        .where(core.sessions.c.id.in_(list(replaced)))
        .order_by(core.sessions.c.number)
    ).all()
    found: list[Known] = [(row[0], row[1], row[2]) for row in rows]
    if survivor is None:
        if not found:
            return None
        survivor = found[0]
    others = [one[0] for one in found if one[0] != survivor[0]]
    for other in others:
        _move(connection, other, survivor[0])
    return (survivor[0], survivor[1], "" if others else survivor[2])


def _move(connection: Connection, source: str, target: str) -> None:
    taken = select(core.evaluations.c.name).where(
        core.evaluations.c.session_id == target, core.evaluations.c.scoring_id.is_(None)
    )
    connection.execute(
        delete(core.evaluations).where(
            core.evaluations.c.session_id == source,
            core.evaluations.c.scoring_id.is_(None),
            core.evaluations.c.name.in_(taken),
        )
    )
    for table in (core.evaluations, core.scorings, core.cohort_members):
        connection.execute(update(table).where(table.c.session_id == source).values(session_id=target))
    for column in (
        core.replays.c.baseline_session_id,
        core.replays.c.result_session_id,
        core.sessions.c.parent_session_id,
    ):
        connection.execute(update(column.table).where(column == source).values({column: target}))
    held = select(core.tags.c.name).where(core.tags.c.session_id == target)
    connection.execute(delete(core.tags).where(core.tags.c.session_id == source, core.tags.c.name.in_(held)))
    connection.execute(update(core.tags).where(core.tags.c.session_id == source).values(session_id=target))
    remove_contents(connection, source)
    connection.execute(delete(core.sessions).where(core.sessions.c.id == source))
