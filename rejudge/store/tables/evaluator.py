"""Registered evaluators and their versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import UniqueConstraint
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, UtcDateTime


class EvaluatorRow(Table, table=True):
    """An evaluator's name; ``deleted_at`` hides it, and nothing is removed."""

    __tablename__ = "evaluator"

    id: str = Field(primary_key=True, sa_type=Id)
    name: str = Field(unique=True, max_length=511)
    created_at: datetime = Field(sa_type=UtcDateTime)
    deleted_at: datetime | None = Field(default=None, sa_type=UtcDateTime)


class EvaluatorVersionRow(Table, table=True):
    """One version of an evaluator; never changed."""

    __tablename__ = "evaluator_version"
    __table_args__ = (
        UniqueConstraint("evaluator_id", "number"),
        UniqueConstraint("evaluator_id", "fingerprint"),
    )

    id: str = Field(primary_key=True, sa_type=Id)
    evaluator_id: str = Field(foreign_key="evaluator.id", sa_type=Id)
    number: int
    fingerprint: str = Field(max_length=64)
    spec: dict[str, Any] = Field(sa_type=Json)
    """Everything needed to run it: entrypoint, sources, parameter schema, provider, connection schema, limits."""
    created_at: datetime = Field(sa_type=UtcDateTime)
