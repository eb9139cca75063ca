"""How large the next chunk is, and how many run at once: by measured time."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rejudge.scoring.batch import Chunk
from rejudge.tasks import policy


@dataclass(slots=True)
class Pacer:
    """Cuts one kind of work into chunks as it goes.

    The first chunk is small and runs alone: it tells what a session takes. From then on a chunk aims at
    `policy.CHUNK_SECONDS`, and another process is started only where there is a chunk's worth of work for it. Where
    the first takes longer than a chunk should, that is told too: small chunks start beside it.
    """

    sessions: Sequence[tuple[str, tuple[int, ...]]]
    """What is to do: session ids and positions of their judges."""
    slow: bool
    workers: int
    """Chunks at once at most."""
    task_runs: int
    """Chunks that it may cut at most."""
    taken: int = 0
    cut: int = 0
    seconds_per_session: float | None = None
    began: float | None = None
    """When the first chunk was cut."""

    @property
    def left(self) -> int:
        """Sessions not yet in a chunk."""
        return len(self.sessions) - self.taken

    @property
    def at_once(self) -> int:
        """Chunks that may run at once now."""
        if self.slow:
            return self.workers
        if self.seconds_per_session is None:
            return self.workers if self._drags else 1
        needed = math.ceil(self.left * self.seconds_per_session / policy.CHUNK_SECONDS)
        return max(1, min(self.workers, needed))

    def take(self) -> Chunk:
        """The next chunk."""
        size = self._size()
        self.began = self.began or time.monotonic()
        chunk = Chunk(tuple(self.sessions[self.taken : self.taken + size]), self.slow)
        self.taken += size
        self.cut += 1
        return chunk

    def learn(self, seconds_per_session: float | None) -> None:
        """A chunk has ended, and took this long a session; the newest measure counts half."""
        if seconds_per_session is not None:
            known = self.seconds_per_session
            self.seconds_per_session = seconds_per_session if known is None else (known + seconds_per_session) / 2

    @property
    def _drags(self) -> bool:
        return self.began is not None and time.monotonic() - self.began > policy.CHUNK_SECONDS

    def _size(self) -> int:
        within_budget = math.ceil(self.left / max(1, self.task_runs - self.cut))
        return max(1, within_budget, min(self._wanted(), math.ceil(self.left / self.at_once)))

    def _wanted(self) -> int:
        if self.slow:
            return policy.SLOW_CHUNK_SESSIONS
        if self.seconds_per_session is None:
            return policy.DRAGGING_CHUNK_SESSIONS if self._drags else policy.FIRST_CHUNK_SESSIONS
        fitting = policy.CHUNK_SECONDS / max(self.seconds_per_session, 1e-6)
        return max(1, min(policy.CHUNK_SESSIONS_MAX, int(fitting)))
