"""The wider scopes that a tape may be answered from: which sessions, and in which state they are."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select

from rejudge.store.engine import Database
from rejudge.store.tables import core

Member = tuple[str, str]
"""Id and digest of a session."""


def agent_sessions(database: Database, agents: Collection[str]) -> list[Member]:
    """These agents' recorded and imported sessions that ended well, newest last. Replays are no evidence."""
    session = core.sessions.c
    query = (
        select(session.id, session.digest)
        .join(core.agents, core.agents.c.id == session.agent_id)
        .where(core.agents.c.name.in_(agents), session.origin != "replay", session.status == "completed")
        .order_by(session.number)
    )
    with database.read() as connection:
        return [(row[0], row[1]) for row in connection.execute(query)]


def cohort_sessions_of_run(database: Database, experiment_run_id: str) -> list[Member]:
    """The sessions in the cohort version of an experiment run, in order."""
    run, member, session = core.experiment_runs.c, core.cohort_members.c, core.sessions.c
    query = (
        select(session.id, session.digest)
        .join(core.cohort_members, member.session_id == session.id)
        .join(core.experiment_runs, run.cohort_version_id == member.cohort_version_id)
        .where(run.id == experiment_run_id)
        .order_by(member.position)
    )
    with database.read() as connection:
        return [(row[0], row[1]) for row in connection.execute(query)]
