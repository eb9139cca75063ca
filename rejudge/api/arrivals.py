"""When a session that arrived is ready to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rejudge.api.receiving import Arrival

QUIET_SECONDS: Final = 1.0
"""How long nothing of a complete session must have come: a trace is often sent in several pieces."""

ORPHAN_SECONDS: Final = 30.0
"""The same for a session without its root: the root may never come, as where a caller is not traced to us."""


class Waiting:
    """Sessions that arrived and are not judged yet. Not safe to share between threads."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._due)

    def add(self, arrivals: Sequence[Arrival], now: float) -> None:
        """Notes sessions that were stored or changed at a time."""
        for one in arrivals:
            self._due[one.session_id] = now + (QUIET_SECONDS if one.complete else ORPHAN_SECONDS)

    def ready(self, now: float) -> list[str]:
        """The sessions of which nothing has come for long enough; they are forgotten here."""
        found = [session_id for session_id, due in self._due.items() if due <= now]
        for session_id in found:
            del self._due[session_id]
        return found
