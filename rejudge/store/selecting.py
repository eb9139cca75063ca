"""From a selection to the ids of sessions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, String, cast, exists, select

from rejudge.errors import NotFound, UsageError
from rejudge.models.selection import Selection
from rejudge.models.session import Session
from rejudge.store.cohorts import find_cohort_version
from rejudge.store.engine import Database
from rejudge.store.filters import compile_filter
from rejudge.store.reading import read_sessions, session_query
from rejudge.store.tables import core


@dataclass(frozen=True, slots=True)
class Selected:
    """What a selection came to."""

    session_ids: tuple[str, ...]
    """In the order named, or by number."""
    in_progress: int = 0
    """Sessions left out because they have not ended."""


def select_sessions(database: Database, selection: Selection, *, ended: bool = True) -> Selected:
    """The ids of the sessions that a selection names.

    Args:
        ended: Leave out sessions still in progress, and count them.

    Raises:
        NotFound: Where nothing matches, or an id is not there.
        UsageError: For an ambiguous beginning of an id, or a filter that cannot be read.
    """
    with database.read() as connection:
        rows = _rows(database, connection, selection)
    running = sum(1 for _, status in rows if status == "in_progress") if ended else 0
    kept = tuple(one for one, status in rows if not (ended and status == "in_progress"))
    if not rows:
        raise NotFound(f"no session matches {selection}", mend="see what there is: rejudge session list")
    return Selected(kept, running)


def list_sessions(
    database: Database, selection: Selection | None = None, *, limit: int | None = None, newest_first: bool = False
) -> list[Session]:
    """Sessions without their nodes, by number.

    Args:
        selection: Which; all where None. A selection that matches nothing gives an empty list.
        limit: How many at most.
        newest_first: The other way round.
    """
    with database.read() as connection:
        query = session_query()
        if selection is not None and selection.ids is not None:
            return list_sessions_by_id(database, resolve_ids(connection, selection.ids))
        if selection is not None:
            query = query.where(_condition(database, selection))
        number = core.sessions.c.number
        return read_sessions(connection, query.order_by(number.desc() if newest_first else number).limit(limit))


def list_sessions_by_id(database: Database, session_ids: Sequence[str]) -> list[Session]:
    """The sessions of these full ids without their nodes, in this order; those that are not there are left out."""
    found: dict[str, Session] = {}
    with database.read() as connection:
        for start in range(0, len(session_ids), 500):
            batch = list(session_ids[start : start + 500])
            query = session_query().where(core.sessions.c.id.in_(batch))
            found.update({one.id: one for one in read_sessions(connection, query)})
    return [found[one] for one in session_ids if one in found]


def session_numbers(database: Database, session_ids: Iterable[str]) -> dict[str, int]:
    """The numbers that people know sessions by, of full ids; those that are not there are left out."""
    return dict(_column(database, session_ids, core.sessions.c.number))


def session_origins(database: Database, session_ids: Iterable[str]) -> dict[str, str]:
    """Where sessions came from (``imported``, ``recorded``, ``replay``), of full ids."""
    return dict(_column(database, session_ids, core.sessions.c.origin))


def _column(database: Database, session_ids: Iterable[str], column: ColumnElement[Any]) -> Iterator[tuple[str, Any]]:
    wanted = list(dict.fromkeys(session_ids))
    with database.read() as connection:
        for start in range(0, len(wanted), 500):
            query = select(core.sessions.c.id, column).where(core.sessions.c.id.in_(wanted[start : start + 500]))
            yield from ((found[0], found[1]) for found in connection.execute(query))


def resolve_ids(connection: Connection, references: Sequence[str]) -> list[str]:
    """Full ids for session numbers, ids, or unambiguous beginnings of ids (at least 6 characters).

    Raises:
        NotFound: Where one is not there.
        UsageError: Where one fits several, or two name the same session.
    """
    found = find_ids(connection, references)
    missing = next((reference for reference in references if reference not in found), None)
    if missing is not None:
        raise no_session(missing)
    resolved = [found[reference] for reference in references]
    twice = [one for one, count in Counter(resolved).items() if count > 1]
    if twice:
        raise UsageError(f"session given twice: {min(twice)}", mend="name each session once")
    return resolved


def find_ids(connection: Connection, references: Iterable[str]) -> dict[str, str]:
    """Full ids by reference, as `resolve_ids` reads them; a session that is not there is left out.

    Raises:
        UsageError: Where a reference is none, or fits several.
    """
    found: dict[str, str] = {}
    numbers: dict[str, int] = {}
    whole: dict[str, str] = {}
    for reference in dict.fromkeys(references):
        text = reference.strip().lower()
        if text.isascii() and text.isdecimal() and len(text) < 10:
            numbers[reference] = int(text)
        elif re.fullmatch(r"[0-9a-f]{32}", text.replace("-", "")):
            whole[reference] = str(UUID(text.replace("-", "")))
        else:
            found.update(_by_beginning(connection, reference, text))
    sessions = core.sessions.c
    ids_by_number = _looked_up(connection, sessions.number, set(numbers.values()))
    ids = _looked_up(connection, sessions.id, set(whole.values()))
    found |= {reference: ids_by_number[one] for reference, one in numbers.items() if one in ids_by_number}
    return found | {reference: ids[one] for reference, one in whole.items() if one in ids}


def no_session(reference: str) -> NotFound:
    """What is said of a session that is not there."""
    return NotFound(f"no session {reference!r}", mend="list them: rejudge session list")


def _looked_up(connection: Connection, column: ColumnElement[Any], wanted: Collection[Any]) -> dict[Any, str]:
    ids: dict[Any, str] = {}
    values = sorted(wanted)
    for start in range(0, len(values), 500):
        query = select(column, core.sessions.c.id).where(column.in_(values[start : start + 500]))
        ids.update((row[0], str(row[1])) for row in connection.execute(query))
    return ids


def _by_beginning(connection: Connection, reference: str, text: str) -> dict[str, str]:
    if len(text) < 6:
        raise UsageError(
            f"{reference!r} is no session id", mend="give a number, an id, or 6 or more characters of one"
        )
    session_id = core.sessions.c.id
    beginning = _as_stored(connection, text).replace("%", "").replace("_", "") + "%"
    query = select(session_id).where(cast(session_id, String).like(beginning)).limit(2)
    found = list(connection.execute(query).scalars())
    if len(found) > 1:
        raise UsageError(f"{reference!r} fits several sessions", mend="give more of the id")
    return {reference: str(found[0])} if found else {}


def _as_stored(connection: Connection, text: str) -> str:
    # SQLite holds a UUID as 32 digits, PostgreSQL shows it with dashes.
    return text.replace("-", "") if connection.dialect.name == "sqlite" else text


def _rows(database: Database, connection: Connection, selection: Selection) -> list[tuple[str, str]]:
    sessions = core.sessions.c
    if selection.ids is not None:
        ids = resolve_ids(connection, selection.ids)
        status: dict[str, str] = {}
        for start in range(0, len(ids), 500):
            query = select(sessions.id, sessions.status).where(sessions.id.in_(ids[start : start + 500]))
            status.update({row[0]: row[1] for row in connection.execute(query)})
        return [(one, status[one]) for one in ids]
    if selection.cohort is not None:
        version = find_cohort_version(database, selection.cohort)
        member = core.cohort_members.c
        query = (
            select(sessions.id, sessions.status)
            .join(core.cohort_members, member.session_id == sessions.id)
            .where(member.cohort_version_id == version.id)
            .order_by(member.position)
        )
    else:
        query = (
            select(sessions.id, sessions.status)
            .join(core.agents, core.agents.c.id == sessions.agent_id)
            .where(_condition(database, selection))
            .order_by(sessions.number)
        )
    return [(row[0], row[1]) for row in connection.execute(query)]


def _condition(database: Database, selection: Selection) -> ColumnElement[bool]:
    sessions = core.sessions.c
    if selection.tag is not None:
        tag = core.tags.c
        return exists().where(tag.session_id == sessions.id, tag.name == selection.tag)
    if selection.agent is not None:
        return core.agents.c.name == selection.agent
    if selection.filter is not None:
        return compile_filter(selection.filter)
    if selection.cohort is not None:
        version = find_cohort_version(database, selection.cohort)
        member = core.cohort_members.c
        return exists().where(member.session_id == sessions.id, member.cohort_version_id == version.id)
    return sessions.id.is_not(None)
