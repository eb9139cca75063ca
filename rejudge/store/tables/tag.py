"""Loose marks on sessions."""

from __future__ import annotations

from sqlalchemy import Index
from sqlmodel import Field

from rejudge.store.tables.base import Table
from rejudge.store.types import Id


class TagRow(Table, table=True):
    """One tag on one session."""

    __tablename__ = "tag"
    __table_args__ = (Index("tag_by_name", "name"),)

    session_id: str = Field(primary_key=True, foreign_key="session.id", sa_type=Id)
    name: str = Field(primary_key=True, max_length=255)
