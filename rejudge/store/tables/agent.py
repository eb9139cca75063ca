"""The program under test, and the versions of how to run it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, UtcDateTime


class AgentRow(Table, table=True):
    """An agent, known by name."""

    __tablename__ = "agent"

    id: str = Field(primary_key=True, sa_type=Id)
    name: str = Field(unique=True, max_length=255)
    created_at: datetime = Field(sa_type=UtcDateTime)


class AgentVersionRow(Table, table=True):
    """One way to run an agent; never changed."""

    __tablename__ = "agent_version"
    __table_args__ = (UniqueConstraint("agent_id", "number"), UniqueConstraint("agent_id", "digest"))

    id: str = Field(primary_key=True, sa_type=Id)
    agent_id: str = Field(foreign_key="agent.id", sa_type=Id)
    number: int
    digest: str = Field(max_length=64)
    """Hex SHA-256 over the entrypoint, the environment and the source it had when registered."""
    spec: dict[str, Any] = Field(sa_type=Json)
    """Entrypoint, kind, source digest, environment, working folder, limits."""
    created_at: datetime = Field(sa_type=UtcDateTime)
