"""How fast an endpoint may be asked: as fast as it answers, and no faster than it lets us."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_FIRST_GAP: Final = 0.02
_LONGEST_GAP: Final = 10.0


@dataclass(slots=True)
class Pace:
    """Slots for calls to one endpoint, handed out to every thread of the process.

    Nothing is held back until the endpoint refuses a call as one too many; then nobody asks before the time it named,
    and the calls after that keep a distance, which shrinks again with every call that goes well.
    """

    clock: Callable[[], float] = time.monotonic
    _next: float = 0.0
    _gap: float = 0.0
    _barred_until: float = 0.0
    _refused_at: float = float("-inf")
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def wait(self, *, at_most: float) -> float | None:
        """Seconds to wait before the next call, its slot being taken; None where it would be longer than allowed."""
        with self._lock:
            now = self.clock()
            delay = max(self._next - now, 0.0)
            if delay > at_most:
                return None
            self._next = max(self._next, now) + self._gap
            return delay

    def barred(self) -> float:
        """Seconds for which the endpoint does not want to be asked."""
        with self._lock:
            return max(self._barred_until - self.clock(), 0.0)

    def refused(self, wait: float | None, *, sent: float) -> None:
        """The endpoint answered that there are too many calls.

        Args:
            wait: Seconds after which it wants to be asked again.
            sent: When the refused call was sent. Calls that were under way together are refused together: that says
                once, and not once for each, that they were too many.
        """
        with self._lock:
            now = self.clock()
            if sent > self._refused_at:
                self._gap = min(max(self._gap * 2, _FIRST_GAP), _LONGEST_GAP)
                self._refused_at = now
            until = now + (wait if wait is not None else self._gap)
            self._barred_until = max(self._barred_until, until)
            self._next = max(self._next, until)

    def went_well(self) -> None:
        """The endpoint answered a call."""
        if self._gap:
            with self._lock:
                self._gap = self._gap * 0.95 if self._gap > 0.002 else 0.0
