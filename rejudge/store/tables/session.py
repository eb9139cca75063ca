"""One recorded run, where its spans are kept, and which traces belong to it."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, Money, UtcDateTime


class CounterRow(Table, table=True):
    """The last number given out, by kind; taken in the transaction that uses it, so there are no gaps."""

    __tablename__ = "counter"

    name: str = Field(primary_key=True, max_length=64)
    value: int = 0


class SessionRow(Table, table=True):
    """One recorded run of an agent (fields as in `rejudge.models.session.Session`)."""

    __tablename__ = "session"
    __table_args__ = (
        UniqueConstraint("agent_id", "external_id", "source"),  # in this order: sessions are looked for by their ids
        Index("session_by_start", "started_at"),
    )

    id: str = Field(primary_key=True, sa_type=Id)
    number: int = Field(unique=True)
    agent_id: str = Field(foreign_key="agent.id", sa_type=Id)
    agent_version: int | None = None
    external_id: str
    source: str
    origin: str = Field(max_length=16)
    status: str = Field(max_length=16)
    name: str | None = None
    framework: str | None = None
    user_id: str | None = None
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    error: str | None = None
    llm_call_count: int = 0
    llm_error_count: int = 0
    tool_call_count: int = 0
    tool_error_count: int = 0
    node_count: int = 0
    tool_names: list[str] | None = Field(default=None, sa_type=Json)
    agents: list[str] | None = Field(default=None, sa_type=Json)
    models: list[str] | None = Field(default=None, sa_type=Json)
    providers: list[str] | None = Field(default=None, sa_type=Json)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: Decimal | None = Field(default=None, sa_type=Money)
    cost_status: str | None = Field(default=None, max_length=16)
    recorded_cost: Decimal | None = Field(default=None, sa_type=Money)
    digest: str = Field(max_length=64)
    complete: bool = True
    parent_session_id: str | None = Field(default=None, foreign_key="session.id", sa_type=Id, index=True)
    payload: bytes = b""
    """zstd over the JSON of ``[inputs, outputs, metadata]``."""
    created_at: datetime = Field(sa_type=UtcDateTime)
    updated_at: datetime = Field(sa_type=UtcDateTime)


class SessionSourceRow(Table, table=True):
    """The spans a session was assembled from: late spans join them and it is assembled again."""

    __tablename__ = "session_source"

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=Id)
    spans: bytes


class SessionTraceRow(Table, table=True):
    """Which traces a session holds."""

    __tablename__ = "session_trace"
    __table_args__ = (Index("session_trace_by_trace", "trace_id"),)

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=Id)
    trace_id: str = Field(primary_key=True, max_length=64)
