"""One at a time, where a name or the next number of a name is given."""

from __future__ import annotations

from sqlalchemy import Connection, text

_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended(:subject, 0))")


def alone(connection: Connection, kind: str, name: str) -> None:
    """Waits until no other transaction is at this name; from then on, none gets there before this one ends.

    On SQLite there is one writer at a time anyway.

    Args:
        kind: What the name is of, such as ``evaluator``.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(_LOCK, {"subject": f"rejudge {kind} {name}"})
