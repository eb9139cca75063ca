"""Recorded times as whole microseconds, and durations as exact decimal text."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Final

from rejudge.models import Node, Session

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds(moment: datetime | None) -> int | None:
    """Microseconds since 1970 in UTC; a time without a zone is taken as UTC."""
    if moment is None:
        return None
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    since = aware - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def interval(record: Node | Session) -> tuple[int, int] | None:
    """Start and end in microseconds; None where either is missing or the end comes before the start."""
    start, end = microseconds(record.started_at), microseconds(record.ended_at)
    return None if start is None or end is None or end < start else (start, end)


def ends_before_start(record: Node | Session) -> bool:
    """Whether both times are there and contradict each other."""
    start, end = microseconds(record.started_at), microseconds(record.ended_at)
    return start is not None and end is not None and end < start


def seconds_text(duration: int) -> str:
    """Microseconds as seconds in plain decimal text: ``1.5``, ``0``, ``0.000001``."""
    return format((Decimal(duration) / 1_000_000).normalize(), "f")
