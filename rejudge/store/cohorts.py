"""Cohorts: named, immutable, ordered lists of sessions of one agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, insert, select

from rejudge.errors import Conflict, NotFound, UsageError
from rejudge.models.canonical import digest_of
from rejudge.models.evaluation import check_name
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now
from rejudge.store.locks import alone
from rejudge.store.references import parse_reference
from rejudge.store.tables import core


@dataclass(frozen=True, slots=True)
class CohortVersion:
    """One version of a cohort, without its members."""

    id: str
    name: str
    number: int
    agent: str
    digest: str
    selection: str | None
    size: int
    created_at: datetime


def create_cohort(
    database: Database, name: str, session_ids: Sequence[str], *, selection: str | None = None
) -> CohortVersion:
    """Version 1 of a new cohort.

    Raises:
        Conflict: Where a cohort of this name is there.
        UsageError: For sessions of several agents, or none.
    """
    try:
        check_name(name, kind="cohort")
    except ValueError as error:
        raise UsageError(str(error)) from error
    with database.write() as connection:
        alone(connection, "cohort", name)
        taken = connection.execute(select(core.cohorts.c.id).where(core.cohorts.c.name == name)).scalar()
        if taken is not None:
            raise Conflict(f"there is a cohort {name!r}", mend=f"add a version: rejudge cohort version {name} …")
        agent_id = _agent_of(connection, session_ids)
        cohort_id = new_id()
        connection.execute(insert(core.cohorts).values(id=cohort_id, name=name, agent_id=agent_id, created_at=now()))
        number = _add_version(connection, cohort_id, session_ids, selection)
    return find_cohort_version(database, f"{name}@{number}")


def add_cohort_version(
    database: Database, name: str, session_ids: Sequence[str], *, selection: str | None = None
) -> tuple[CohortVersion, bool]:
    """The version of a cohort with exactly these sessions in this order, and whether it is new.

    Raises:
        NotFound: Where there is no such cohort.
        UsageError: For sessions of another agent.
    """
    with database.write() as connection:
        alone(connection, "cohort", name)
        cohort = connection.execute(
            select(core.cohorts.c.id, core.cohorts.c.agent_id).where(core.cohorts.c.name == name)
        ).one_or_none()
        if cohort is None:
            raise NotFound(f"no cohort {name!r}", mend=f"make it: rejudge cohort create {name} …")
        if _agent_of(connection, session_ids) != cohort[1]:
            raise UsageError(f"these sessions are of another agent than cohort {name!r}", mend="make another cohort")
        version = core.cohort_versions.c
        same = connection.execute(
            select(version.number).where(
                version.cohort_id == cohort[0], version.digest == digest_of(list(session_ids))
            )
        ).scalar()
        number = same if same is not None else _add_version(connection, cohort[0], session_ids, selection)
    return find_cohort_version(database, f"{name}@{number}"), same is None


def find_cohort_version(database: Database, reference: str) -> CohortVersion:
    """The version that ``name@2``, ``name@latest`` or a bare name (its latest) stands for.

    Raises:
        NotFound: Where it is not there.
    """
    wanted = parse_reference(reference, kind="cohort", bare=True)
    versions = [one for one in list_cohort_versions(database, wanted.name) if wanted.number in (None, one.number)]
    if not versions:
        raise NotFound(f"no cohort {reference!r}", mend="list them: rejudge cohort list")
    return versions[-1]


def find_cohort_version_by_id(database: Database, version_id: str) -> CohortVersion:
    """The cohort version of this id.

    Raises:
        NotFound: Where it is not there.
    """
    for one in list_cohort_versions(database):
        if one.id == version_id:
            return one
    raise NotFound(f"no cohort version {version_id!r}", mend="list them: rejudge cohort list")


def list_cohort_versions(database: Database, name: str | None = None) -> list[CohortVersion]:
    """Every version of a cohort, or of all, by name and number."""
    cohort, version, member = core.cohorts.c, core.cohort_versions.c, core.cohort_members.c
    size = select(func.count()).where(member.cohort_version_id == version.id).correlate(core.cohort_versions)
    query = (
        select(
            version.id,
            cohort.name,
            version.number,
            core.agents.c.name,
            version.digest,
            version.selection,
            size.scalar_subquery(),
            version.created_at,
        )
        .join(core.cohorts, cohort.id == version.cohort_id)
        .join(core.agents, core.agents.c.id == cohort.agent_id)
        .order_by(cohort.name, version.number)
    )
    if name is not None:
        query = query.where(cohort.name == name)
    with database.read() as connection:
        return [CohortVersion(*row) for row in connection.execute(query)]


def cohort_members(database: Database, version: CohortVersion) -> list[str]:
    """The ids of a version's sessions, in order."""
    member = core.cohort_members.c
    query = select(member.session_id).where(member.cohort_version_id == version.id).order_by(member.position)
    with database.read() as connection:
        return [str(one) for one in connection.execute(query).scalars()]


def _agent_of(connection: Connection, session_ids: Sequence[str]) -> str:
    agents: set[str] = set()
    for start in range(0, len(session_ids), 500):
        query: Any = select(core.sessions.c.agent_id).distinct()
        batch = session_ids[start : start + 500]
        agents.update(connection.execute(query.where(core.sessions.c.id.in_(batch))).scalars())
    if len(agents) != 1:
        found = "no sessions" if not agents else "sessions of several agents"
        raise UsageError(f"a cohort lists sessions of one agent; these are {found}", mend="narrow the selection")
    return agents.pop()


def _add_version(connection: Connection, cohort_id: str, session_ids: Sequence[str], selection: str | None) -> int:
    version = core.cohort_versions.c
    last = connection.execute(select(func.max(version.number)).where(version.cohort_id == cohort_id)).scalar()
    number, version_id = int(last or 0) + 1, new_id()
    connection.execute(
        insert(core.cohort_versions).values(
            id=version_id,
            cohort_id=cohort_id,
            number=number,
            digest=digest_of(list(session_ids)),
            selection=selection,
            created_at=now(),
        )
    )
    members = [
        {"cohort_version_id": version_id, "position": position, "session_id": one}
        for position, one in enumerate(session_ids)
    ]
    connection.execute(insert(core.cohort_members), members)
    return number
