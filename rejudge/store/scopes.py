"""The wider scopes that a tape may be answered from."""

from __future__ import annotations

from sqlalchemy import select

from rejudge.store.engine import Database
from rejudge.store.tables import core


def agent_sessions(database: Database, agent: str) -> list[str]:
    """Ids of an agent's recorded and imported sessions that ended well, newest last. Replays are no evidence."""
    session = core.sessions.c
    query = (
        select(session.id)
        .join(core.agents, core.agents.c.id == session.agent_id)
        .where(core.agents.c.name == agent, session.origin != "replay", session.status == "completed")
        .order_by(session.number)
    )
    with database.read() as connection:
        return [str(one) for one in connection.execute(query).scalars()]


def cohort_sessions_of_run(database: Database, experiment_run_id: str) -> list[str]:
    """Ids of the sessions in the cohort version of an experiment run, in order."""
    run, member = core.experiment_runs.c, core.cohort_members.c
    query = (
        select(member.session_id)
        .join(core.experiment_runs, run.cohort_version_id == member.cohort_version_id)
        .where(run.id == experiment_run_id)
        .order_by(member.position)
    )
    with database.read() as connection:
        return [str(one) for one in connection.execute(query).scalars()]
