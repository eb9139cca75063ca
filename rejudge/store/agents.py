"""Agents and their versions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, ScalarSelect, func, insert, select

from rejudge.errors import NotFound, UsageError
from rejudge.models.evaluation import check_name
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now
from rejudge.store.locks import alone
from rejudge.store.references import Reference, parse_reference
from rejudge.store.tables import core


@dataclass(frozen=True, slots=True)
class AgentVersion:
    """One pinned way to run an agent."""

    id: str
    agent: str
    number: int
    digest: str
    spec: dict[str, Any]
    created_at: datetime


@dataclass(frozen=True, slots=True)
class AgentSummary:
    """An agent as a list shows it."""

    name: str
    versions: int
    sessions: int
    created_at: datetime


def agent_id_for(connection: Connection, name: str) -> str:
    """The id of the agent of this name, made where there is none.

    Raises:
        UsageError: For a name that is not allowed.
    """
    found = connection.execute(select(core.agents.c.id).where(core.agents.c.name == name)).scalar()
    if found is not None:
        return str(found)
    try:
        check_name(name, kind="agent")
    except ValueError as error:
        raise UsageError(str(error)) from error
    alone(connection, "agent", name)
    found = connection.execute(select(core.agents.c.id).where(core.agents.c.name == name)).scalar()
    if found is not None:
        return str(found)  # made by another writer meanwhile
    made = new_id()
    connection.execute(insert(core.agents).values(id=made, name=name, created_at=now()))
    return made


def register_agent(database: Database, name: str, digest: str, spec: dict[str, Any]) -> tuple[AgentVersion, bool]:
    """The agent version of this digest, and whether it is new. The same digest again is the same version."""
    with database.write() as connection:
        alone(connection, "agent", name)
        agent_id = agent_id_for(connection, name)
        found = connection.execute(
            _versions().where(core.agent_versions.c.agent_id == agent_id, core.agent_versions.c.digest == digest)
        ).one_or_none()
        if found is not None:
            return AgentVersion(*found), False
        last = connection.execute(
            select(func.max(core.agent_versions.c.number)).where(core.agent_versions.c.agent_id == agent_id)
        ).scalar()
        version = AgentVersion(new_id(), name, (last or 0) + 1, digest, spec, now())
        connection.execute(
            insert(core.agent_versions).values(
                id=version.id,
                agent_id=agent_id,
                number=version.number,
                digest=digest,
                spec=spec,
                created_at=version.created_at,
            )
        )
        return version, True


def find_agent_version(database: Database, reference: str) -> AgentVersion:
    """The version that ``name@3``, ``name@latest`` or a bare ``name`` (its latest) stands for.

    Raises:
        NotFound: Where the agent or the version is not there.
    """
    wanted = parse_reference(reference, kind="agent", bare=True)
    versions = [version for version in list_agent_versions(database, wanted.name) if _matches(version, wanted)]
    if not versions:
        raise NotFound(
            f"no registered version {reference!r} of an agent",
            mend=f"register it: rejudge agent register {wanted.name} --entrypoint FILE.py:run",
        )
    return versions[-1]


def list_agent_versions(database: Database, name: str) -> list[AgentVersion]:
    """Every version of an agent, oldest first."""
    with database.read() as connection:
        rows = connection.execute(
            _versions().where(core.agents.c.name == name).order_by(core.agent_versions.c.number)
        )
        return [AgentVersion(*row) for row in rows]


def list_agents(database: Database) -> list[AgentSummary]:
    """Every agent, by name."""
    versions = _count(core.agent_versions.c.agent_id)
    sessions = _count(core.sessions.c.agent_id)
    with database.read() as connection:
        rows = connection.execute(
            select(core.agents.c.name, versions, sessions, core.agents.c.created_at).order_by(core.agents.c.name)
        )
        return [AgentSummary(*row) for row in rows]


def _versions() -> Any:
    return select(
        core.agent_versions.c.id,
        core.agents.c.name,
        core.agent_versions.c.number,
        core.agent_versions.c.digest,
        core.agent_versions.c.spec,
        core.agent_versions.c.created_at,
    ).join(core.agents, core.agents.c.id == core.agent_versions.c.agent_id)


def _count(agent_id: ColumnElement[str]) -> ScalarSelect[int]:
    return select(func.count()).where(agent_id == core.agents.c.id).correlate(core.agents).scalar_subquery()


def _matches(version: AgentVersion, wanted: Reference) -> bool:
    return wanted.number is None or version.number == wanted.number
