"""Ids, numbers and the clock."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module

from sqlalchemy import Connection, update
from uuid_utils import uuid7

from rejudge.store.tables import core


def new_id() -> str:
    """A UUIDv7 as text: sorts by the time it was made."""
    return str(uuid7())


def now() -> datetime:
    """The time, aware, in UTC."""
    return datetime.now(UTC)


def take_numbers(connection: Connection, kind: str, count: int = 1) -> int:
    """The first of `count` consecutive numbers of this kind, from 1, without gaps.

    The counter's row is locked until the transaction ends, so numbers follow the order of commits.
    """
    step = (
        update(core.counters)
        .where(core.counters.c.name == kind)
        .values(value=core.counters.c.value + count)
        .returning(core.counters.c.value)
    )
    value = connection.execute(step).scalar()
    if value is None:
        # Another writer may make the row at the same moment: this waits for it.
        dialect = import_module(f"sqlalchemy.dialects.{connection.dialect.name}")
        connection.execute(dialect.insert(core.counters).values(name=kind, value=0).on_conflict_do_nothing())
        value = connection.execute(step).scalar_one()
    return int(value) - count + 1
