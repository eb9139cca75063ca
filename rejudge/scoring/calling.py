"""Calling one evaluator on one session, so that whatever it does ends its own scoring only."""

from __future__ import annotations

import contextlib
import inspect
import os
import signal
import sys
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from rejudge.models.session import SessionView
from rejudge.scoring.contract import (
    RESULTS_LIMIT,
    InvalidResult,
    encoded,
    failure,
    json_of,
    normalised,
)
from rejudge.scoring.load import Loaded

if TYPE_CHECKING:
    import asyncio


class Caller:
    """Calls evaluators and puts the process back in order after each.

    One event loop serves every async evaluator of the process, so that their clients may keep connections.
    """

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._home = os.getcwd()
        self._recursion_limit = sys.getrecursionlimit()
        self._path = tuple(sys.path)

    def score(self, sequence: int, loaded: Loaded, view: SessionView) -> bytes:
        """The frame that says how one scoring ended."""
        started = time.perf_counter()
        try:
            returned = loaded.call(view)
            if inspect.isawaitable(returned):
                returned = self._run(within(loaded.spec.time_limit, returned))
        except BaseException as error:  # SystemExit and KeyboardInterrupt are bugs like any other
            return self.failed(sequence, error, started)
        return self.settled(sequence, loaded, returned, started)

    def _run(self, awaitable: Coroutine[Any, Any, object]) -> object:
        if self._runner is None:
            import asyncio  # most evaluators are plain functions, and start without it

            self._runner = asyncio.Runner()
        return self._runner.run(awaitable)

    def settled(self, sequence: int, loaded: Loaded, returned: object, started: float) -> bytes:
        """The frame of an evaluator that returned."""
        duration = time.perf_counter() - started
        self._tidy()
        try:
            results = [json_of(result) for result in normalised(returned, loaded.spec.result_name)]
            frame = encoded([sequence, "scored", results, None, False, None, duration])
            if len(frame) > RESULTS_LIMIT:
                raise InvalidResult(f"its results take {len(frame)} bytes of JSON, at most {RESULTS_LIMIT} are kept")
            return frame
        except Exception as error:
            if not isinstance(error, InvalidResult):
                error = InvalidResult(f"its results cannot be kept: {error}")
            return self.failed(sequence, error, started)

    def failed(self, sequence: int, error: BaseException, started: float) -> bytes:
        """The frame of an evaluator that raised."""
        duration = time.perf_counter() - started
        self._tidy()
        if isinstance(error, TimedOut):
            return encoded([sequence, "timed_out", [], str(error), False, None, duration])
        status, text, retryable, retry_after = failure(error)
        return encoded([sequence, status, [], text, retryable, retry_after, duration])

    def _tidy(self) -> None:
        signal.alarm(0)  # a timer left behind would end someone else's scoring
        if sys.getrecursionlimit() != self._recursion_limit:
            sys.setrecursionlimit(self._recursion_limit)
        if len(sys.path) < len(self._path):  # what it adds stays
            sys.path[:] = self._path
        try:
            here = os.getcwd()
        except OSError:  # it removed the folder under our feet
            here = ""
        if here != self._home:
            with contextlib.suppress(OSError):
                os.chdir(self._home)


class TimedOut(Exception):
    """An async evaluator ran past its limit and was cancelled."""


async def within(limit: float, awaitable: Any) -> object:
    """What the awaitable gives.

    Raises:
        TimedOut: Past the limit. An evaluator that blocks the loop is killed from outside instead.
    """
    import asyncio

    try:
        async with asyncio.timeout(limit) as watch:
            return await awaitable
    except TimeoutError as error:
        if watch.expired():
            raise TimedOut(limit_text(limit)) from error
        raise


def limit_text(limit: float) -> str:
    """What a row says of a scoring that took too long."""
    return f"it took longer than its limit of {limit:g} s"
