"""Named, immutable, ordered lists of sessions of one agent."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, UtcDateTime


class CohortRow(Table, table=True):
    """A cohort's name and the agent whose sessions it lists."""

    __tablename__ = "cohort"

    id: str = Field(primary_key=True, sa_type=Id)
    name: str = Field(unique=True, max_length=255)
    agent_id: str = Field(foreign_key="agent.id", sa_type=Id)
    created_at: datetime = Field(sa_type=UtcDateTime)


class CohortVersionRow(Table, table=True):
    """One version of a cohort; never changed."""

    __tablename__ = "cohort_version"
    __table_args__ = (UniqueConstraint("cohort_id", "number"),)

    id: str = Field(primary_key=True, sa_type=Id)
    cohort_id: str = Field(foreign_key="cohort.id", sa_type=Id)
    number: int
    digest: str = Field(max_length=64)
    """Hex SHA-256 over the session ids in order: the same list again is the same version."""
    selection: str | None = None
    """What the list was chosen by, for the reader."""
    created_at: datetime = Field(sa_type=UtcDateTime)


class CohortMemberRow(Table, table=True):
    """One session of a cohort version."""

    __tablename__ = "cohort_member"

    cohort_version_id: str = Field(primary_key=True, foreign_key="cohort_version.id", sa_type=Id)
    position: int = Field(primary_key=True)
    session_id: str = Field(foreign_key="session.id", sa_type=Id)
