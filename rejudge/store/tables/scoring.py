"""How each (session, evaluator version, params) ended."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, Money, UtcDateTime


class ScoringRow(Table, table=True):
    """One unit of scoring work and its end.

    Evaluator name, number, fingerprint and params stand on the row, so it stays readable after the evaluator is gone.
    """

    __tablename__ = "scoring"
    __table_args__ = (
        UniqueConstraint("identity", "sequence"),
        Index("scoring_by_session", "session_id"),
        Index("scoring_by_flow_run", "flow_run_id"),
    )

    id: str = Field(primary_key=True, sa_type=Id)
    identity: str = Field(max_length=32)
    """Hash of session, session digest, evaluator, fingerprint and params: scored once, unless forced."""
    sequence: int = 0
    """Counts the forced repetitions of one identity."""
    superseded: bool = False
    """True once a newer scoring of the same session, evaluator version and params stands beside it."""
    session_id: str = Field(foreign_key="session.id", sa_type=Id)
    session_digest: str = Field(max_length=64)
    evaluator: str
    evaluator_version: int
    fingerprint: str = Field(max_length=64)
    params: dict[str, Any] | None = Field(default=None, sa_type=Json)
    params_digest: str = Field(max_length=64)
    status: str = Field(max_length=16)
    error: str | None = None
    retryable: bool = False
    attempts: int = 1
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    duration_seconds: float | None = None
    cost: Decimal | None = Field(default=None, sa_type=Money)
    flow_run_id: str | None = Field(default=None, max_length=36)
    task_run_id: str | None = Field(default=None, max_length=36)
    created_at: datetime = Field(sa_type=UtcDateTime)
