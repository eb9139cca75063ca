"""How fast an endpoint may be asked: as fast as it answers, and no faster than it lets us."""

from __future__ import annotations

import fcntl
import os
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FIRST_GAP: Final = 0.02
_LONGEST_GAP: Final = 10.0
_QUICK: Final = 0.95
_CAREFUL: Final = 0.98
_STATE: Final = struct.Struct("5d")


@dataclass(slots=True)
class _State:
    next: float = 0.0
    """When the next call may be sent."""
    gap: float = 0.0
    """Seconds between two calls."""
    barred_until: float = 0.0
    refused_at: float = float("-inf")
    too_small: float = 0.0
    """The last distance at which a call was refused."""


class Pace:
    """Slots for calls to one endpoint, handed out to every thread of the process.

    Nothing is held back until the endpoint refuses a call as one too many; then nobody asks before the time it named,
    and the calls after that keep a distance, which shrinks again with every call that goes well.

    Args:
        clock: Seconds; the same for all processes of this machine.
        file: Where several processes that ask the same endpoint keep the pace together; None: this one is alone.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, file: Path | None = None) -> None:
        self.clock = clock
        self._alone = _State()
        self._lock = threading.Lock()
        self._file = None if file is None else os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def wait(self, *, at_most: float) -> float | None:
        """Seconds to wait before the next call, its slot being taken; None where it would be longer than allowed."""
        with self._state() as state:
            now = self.clock()
            delay = max(state.next - now, 0.0)
            if delay > at_most:
                return None
            state.next = max(state.next, now) + state.gap
            return delay

    def barred(self) -> float:
        """Seconds for which the endpoint does not want to be asked."""
        with self._state() as state:
            return max(state.barred_until - self.clock(), 0.0)

    def refused(self, wait: float | None, *, sent: float) -> None:
        """The endpoint answered that there are too many calls.

        Args:
            wait: Seconds after which it wants to be asked again.
            sent: When the refused call was sent. Calls that were under way together are refused together: that says
                once, and not once for each, that they were too many.
        """
        with self._state() as state:
            now = self.clock()
            if sent > state.refused_at:
                state.too_small = state.gap
                state.gap = _wider(state.gap, wait)
                state.refused_at = now
            until = now + (wait if wait is not None else state.gap)
            state.barred_until = max(state.barred_until, until)
            state.next = max(state.next, until)

    def went_well(self) -> None:
        """The endpoint answered a call."""
        with self._state() as state:
            near = state.gap <= 2 * state.too_small
            state.gap = state.gap * (_CAREFUL if near else _QUICK) if state.gap > 0.002 else 0.0

    @contextmanager
    def _state(self) -> Iterator[_State]:
        """The state, held until it is written back."""
        with self._lock:
            if self._file is None:
                yield self._alone
                return
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                kept = os.pread(self._file, _STATE.size, 0)
                state = _State(*_STATE.unpack(kept)) if len(kept) == _STATE.size else _State()
                yield state
                packed = _STATE.pack(state.next, state.gap, state.barred_until, state.refused_at, state.too_small)
                os.pwrite(self._file, packed, 0)
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)


def _wider(gap: float, wait: float | None) -> float:
    """The distance after a refusal: what was missing is what the endpoint still wants to wait, and a little more."""
    doubled = max(gap * 2, _FIRST_GAP)
    enough = _LONGEST_GAP if wait is None else max((gap + wait) * 1.1, _FIRST_GAP)
    return min(doubled, enough, _LONGEST_GAP)
