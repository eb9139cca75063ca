"""The steps of sessions: facts as columns, payloads in packs."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from sqlalchemy import BigInteger
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id, Json, Money, UtcDateTime


class NodeRow(Table, table=True):
    """One step of a session (fields as in `rejudge.models.session.Node`)."""

    __tablename__ = "node"

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=Id)
    position: int = Field(primary_key=True)
    id: str
    node_type: str = Field(max_length=16)
    name: str
    status: str = Field(max_length=16)
    parent_id: str | None = None
    link_ids: list[str] | None = Field(default=None, sa_type=Json)
    trace_id: str | None = None
    started_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    ended_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    tool_name: str | None = None
    tool_call_id: str | None = None
    agent_name: str | None = None
    model: str | None = None
    requested_model: str | None = None
    provider: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = Field(default=None, sa_type=BigInteger)
    output_tokens: int | None = Field(default=None, sa_type=BigInteger)
    cached_input_tokens: int | None = Field(default=None, sa_type=BigInteger)
    cache_write_tokens: int | None = Field(default=None, sa_type=BigInteger)
    reasoning_tokens: int | None = Field(default=None, sa_type=BigInteger)
    cost: Decimal | None = Field(default=None, sa_type=Money)
    cost_status: str | None = Field(default=None, max_length=16)
    error: str | None = None
    error_type: str | None = None
    inferred: bool = False
    incomplete: str | None = None
    payload_ref: int | None = Field(default=None, sa_type=BigInteger)
    """Where ``[inputs, outputs]`` is in the session's packs; None where both are None."""
    attributes_ref: int | None = Field(default=None, sa_type=BigInteger)
