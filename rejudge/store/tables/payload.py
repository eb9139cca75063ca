"""Payload packs, content-addressed, and which session reads which."""

from __future__ import annotations

from sqlalchemy import Index
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id


class PackRow(Table, table=True):
    """One pack (see `rejudge.models.packs`)."""

    __tablename__ = "pack"

    digest: str = Field(primary_key=True, max_length=64)
    data: bytes


class SessionPackRow(Table, table=True):
    """Pack number ``position`` of a session."""

    __tablename__ = "session_pack"
    __table_args__ = (Index("session_pack_by_digest", "digest"),)

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=Id)
    position: int = Field(primary_key=True)
    digest: str = Field(foreign_key="pack.digest", max_length=64)
