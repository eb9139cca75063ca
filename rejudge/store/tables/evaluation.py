"""The results: one named, typed value for one session. Labels are the ones without a scoring."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Index, event, text
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, Money, UtcDateTime

_LABEL_NAMES = Index("label_name_in_session", "session_id", "name", unique=True)
"""Of labels only: see below."""


class EvaluationRow(Table, table=True):
    """One evaluation, or one label where ``scoring_id`` is None."""

    __tablename__ = "evaluation"
    __table_args__ = (
        Index("evaluation_by_session", "session_id"),
        Index("evaluation_by_scoring", "scoring_id"),
        _LABEL_NAMES,
    )

    id: str = Field(primary_key=True, sa_type=Id)
    session_id: str = Field(foreign_key="session.id", sa_type=Id)
    scoring_id: str | None = Field(default=None, foreign_key="scoring.id", sa_type=Id)
    evaluator: str | None = None
    evaluator_version: int | None = None
    fingerprint: str | None = Field(default=None, max_length=64)
    params: dict[str, Any] | None = Field(default=None, sa_type=Json)
    params_digest: str | None = Field(default=None, max_length=64)
    name: str = Field(max_length=255)
    data_type: str = Field(max_length=16)
    score: float | None = None
    value: str | None = None
    passed: bool | None = None
    explanation: str | None = None
    evidence: Any = Field(default=None, sa_type=Json, nullable=True)
    min_score: float | None = None
    max_score: float | None = None
    target_score: float | None = None
    direction: str = Field(default="none", max_length=8)
    unscored: str | None = None
    cost: Decimal | None = Field(default=None, sa_type=Money)
    input_tokens: int | None = None
    output_tokens: int | None = None
    model: str | None = None
    author: str | None = None
    """Who labelled, for a label."""
    created_at: datetime = Field(sa_type=UtcDateTime)


@event.listens_for(EvaluationRow.metadata.tables["evaluation"], "before_create")
def _leave_out_scored(_table: Any, connection: Connection, **_: Any) -> None:
    # Said for the database at hand: naming two in the index itself imports both, and one takes 35 ms.
    _LABEL_NAMES.dialect_kwargs[f"{connection.dialect.name}_where"] = text("scoring_id IS NULL")
