"""Column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
from sqlalchemy import DateTime, Dialect, Numeric, String, Text, Uuid
from sqlalchemy.types import TypeDecorator, TypeEngine

Id = Uuid(as_uuid=False)
"""A UUIDv7 as text in Python."""


class UtcDateTime(TypeDecorator[datetime]):
    """An aware UTC time, to the microsecond; on SQLite ISO 8601 text, which sorts as time does.

    Whole seconds have no fraction: their ``+`` sorts before the ``.`` of what comes later.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(String(32) if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        value = _in_utc(value)
        return value.isoformat() if value is not None and dialect.name == "sqlite" else value

    def bind_column(self, values: Iterable[datetime | None], dialect: Dialect) -> list[Any]:
        """As `process_bind_param` of each value; SQLite's text in one call, for every node has two times."""
        times = list(map(_in_utc, values))
        return orjson.loads(orjson.dumps(times)) if dialect.name == "sqlite" else times

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None or isinstance(value, datetime):
            return value if value is None or value.tzinfo is UTC else value.astimezone(UTC)
        return datetime.fromisoformat(value)


def _in_utc(value: datetime | None) -> datetime | None:
    if value is None or value.tzinfo is UTC:
        return value
    if value.tzinfo is None:
        raise ValueError(f"a time without a zone: {value!r}")
    return value.astimezone(UTC)


class Money(TypeDecorator[Decimal]):
    """An exact decimal amount in US dollars; SQLite has no exact number, so it is text there."""

    impl = Numeric(38, 18)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(String(64) if dialect.name == "sqlite" else Numeric(38, 18))

    def process_bind_param(self, value: Decimal | None, dialect: Dialect) -> Any:
        if value is None or dialect.name != "sqlite":
            return value
        return format(value, "f")

    def process_result_value(self, value: Any, dialect: Dialect) -> Decimal | None:
        if value is None:
            return None
        amount = Decimal(value)
        # NUMERIC(38,18) pads with zeros: both engines answer with the same digits.
        return amount.normalize() + 0 if amount else Decimal(0)


class Json(TypeDecorator[Any]):
    """A JSON value kept as text, byte for byte; SQL NULL where it is None."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        # PostgreSQL holds no NUL, escaped or not, in what it reads as JSON; as plain text the escape is fine.
        return None if value is None else orjson.dumps(value, default=_plain).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else orjson.loads(value)


def storable(text: str | None) -> str | None:
    """Text that every database holds: no NUL, no lone surrogates."""
    if text is None:
        return None
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"not a JSON value: {type(value).__name__}")
