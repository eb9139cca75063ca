"""Named changes and their runs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, UtcDateTime


class ExperimentRow(Table, table=True):
    """A named change with its evaluators."""

    __tablename__ = "experiment"

    id: str = Field(primary_key=True, sa_type=Id)
    name: str = Field(unique=True, max_length=255)
    spec: dict[str, Any] = Field(sa_type=Json)
    """The change (override, policies, fork point) and the evaluators with their params."""
    created_at: datetime = Field(sa_type=UtcDateTime)


class ExperimentRunRow(Table, table=True):
    """An experiment applied to one cohort version with one agent version."""

    __tablename__ = "experiment_run"
    __table_args__ = (UniqueConstraint("experiment_id", "number"),)

    id: str = Field(primary_key=True, sa_type=Id)
    experiment_id: str = Field(foreign_key="experiment.id", sa_type=Id)
    number: int
    cohort_version_id: str = Field(foreign_key="cohort_version.id", sa_type=Id)
    agent: str
    agent_version: int
    spec: dict[str, Any] = Field(sa_type=Json)
    """The experiment's spec as it stood, with ``latest`` resolved, and the trials."""
    status: str = Field(max_length=16)
    summary: dict[str, Any] | None = Field(default=None, sa_type=Json)
    flow_run_id: str | None = Field(default=None, max_length=36)
    created_at: datetime = Field(sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
