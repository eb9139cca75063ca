"""What of our own environment an evaluator's process is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

_WITHHELD_PREFIXES: Final = ("REJUDGE_", "PREFECT_")
_WITHHELD: Final = frozenset({"PGPASSWORD", "PGPASSFILE", "PGSERVICEFILE"})
_SECRET_WORDS: Final = ("key", "token", "secret", "password", "passwd", "credential", "authorization")
_SHORTEST_SECRET: Final = 6


def child_environment(
    own: Mapping[str, str],
    connection: Mapping[str, str],
    *,
    withheld: Iterable[str] = (),
    shared: str | None = None,
) -> dict[str, str]:
    """The variables of an evaluator's process.

    Ours pass through, but for rejudge's and Prefect's own (database URLs, connections, API keys) and what libpq
    would log into our database with.

    Args:
        own: Our environment.
        connection: What this evaluator's connection gives it.
        withheld: Names that other evaluators' connections hold.
        shared: A folder that the processes of one pool share.
    """
    names = _WITHHELD | set(withheld)
    passed = {
        name: value for name, value in own.items() if name not in names and not name.startswith(_WITHHELD_PREFIXES)
    }
    together = {} if shared is None else {"REJUDGE_SHARED_FOLDER": shared}
    return {**passed, **connection, **together, "PYTHONUNBUFFERED": "1", "DO_NOT_TRACK": "1"}


def secrets_in(connection: Mapping[str, str]) -> tuple[str, ...]:
    """The values of a connection that must never reach a row or a log, longest first."""
    values = {
        value
        for name, value in connection.items()
        if len(value) >= _SHORTEST_SECRET and any(word in name.lower() for word in _SECRET_WORDS)
    }
    return tuple(sorted(values, key=len, reverse=True))
