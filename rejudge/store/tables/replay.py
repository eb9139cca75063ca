"""Replays: what was asked, and what came of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, UtcDateTime


class ReplayRow(Table, table=True):
    """One replay of one baseline session."""

    __tablename__ = "replay"
    __table_args__ = (
        UniqueConstraint("identity", "sequence"),
        Index("replay_by_run", "experiment_run_id"),
        Index("replay_by_baseline", "baseline_session_id"),
    )

    id: str = Field(primary_key=True, sa_type=Id)
    number: int = Field(unique=True)
    identity: str = Field(max_length=64)
    """Digest of baseline (and its digest), agent version, override, policies, fork point, trial."""
    sequence: int = 0
    """Counts the repetitions asked for with ``--again``."""
    baseline_session_id: str = Field(foreign_key="session.id", sa_type=Id)
    result_session_id: str | None = Field(default=None, foreign_key="session.id", sa_type=Id)
    experiment_run_id: str | None = Field(default=None, foreign_key="experiment_run.id", sa_type=Id)
    agent: str
    agent_version: int
    trial: int = 0
    plan: dict[str, Any] = Field(sa_type=Json)
    """Override, policies, fork point and limits, as asked."""
    status: str = Field(max_length=16)
    """``pending``, ``running``, or how it ended."""
    error: str | None = None
    result: dict[str, Any] | None = Field(default=None, sa_type=Json)
    """Fidelity, divergence, applied overrides."""
    owner: str | None = None
    """Who is running it: a flow run, so that a run that died can be told from one at work."""
    created_at: datetime = Field(sa_type=UtcDateTime)
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    flow_run_id: str | None = Field(default=None, max_length=36)
