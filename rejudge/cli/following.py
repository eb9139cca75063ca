"""What `rejudge receive` does with sessions after they arrived: announcing and judging, in the main thread."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Final

from rejudge.cli.output import Output
from rejudge.errors import RejudgeError

if TYPE_CHECKING:
    from rejudge.api import Store
    from rejudge.api.receiving import Arrival
    from rejudge.models.requests import EvaluatorChoice

_TICK: Final = 0.25
_FIRST_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 600.0


class _Errand:
    """Something to be done for sessions that arrived, tried again later where it fails."""

    def __init__(self, what: str, do: Callable[[list[str]], None], output: Output) -> None:
        self._what = what
        self._do = do
        self._output = output
        self._pause = _FIRST_PAUSE
        self._not_before = 0.0
        self.session_ids: list[str] = []

    def run(self, now: float) -> None:
        """Does it for all sessions that wait for it."""
        if not self.session_ids or now < self._not_before:
            return
        try:
            self._do(list(dict.fromkeys(self.session_ids)))
        except Exception as error:  # whatever it is, receiving goes on
            mend = getattr(error, "mend", None)
            said = f"{error}" if isinstance(error, RejudgeError) else f"{type(error).__name__}: {error}"
            self._output.note(f"{self._what} failed: {said}{f' ({mend})' if mend else ''}")
            self._not_before = now + self._pause
            self._pause = min(self._pause * 2, _LONGEST_PAUSE)
        else:
            self.session_ids = []
            self._pause = _FIRST_PAUSE


class Following:
    """Sessions on their way from their arrival to their evaluations. Flows want the main thread, so this is there.

    Args:
        evaluators: What judges them; none: nothing does.
        announce: Tell Prefect of them.
    """

    def __init__(
        self,
        output: Output,
        store: Store,
        agent: str,
        evaluators: tuple[EvaluatorChoice, ...],
        *,
        announce: bool,
    ) -> None:
        from rejudge.api.arrivals import Waiting

        self._output = output
        self._store = store
        self._agent = agent
        self._evaluators = evaluators
        self._arrived: list[Arrival] = []
        self._lock = threading.Lock()
        self._waiting = Waiting()
        wanted = (("announcing", self._tell_prefect, announce), ("judging", self._judge, bool(evaluators)))
        self._errands = [_Errand(what, do, output) for what, do, asked in wanted if asked]

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """Notes sessions that were stored; called from the receiver's thread."""
        if self._errands:
            with self._lock:
                self._arrived += arrivals

    def until_stopped(self, alive: Callable[[], bool]) -> None:
        """Judges and announces what arrives until a signal comes."""
        with _stopped_by_signals() as stop:
            while not stop.wait(_TICK):
                if not alive():
                    raise RejudgeError("the receiver ended by itself", mend="its log on stderr says why")
                try:
                    self._follow_up(time.monotonic())
                except KeyboardInterrupt:  # a flow that runs takes the signal, and passes it on as this
                    return

    def say_what_is_left(self) -> None:
        """Tells a person of sessions that arrived and were not judged any more."""
        left = len(self._waiting) + len(self._arrived) + sum(len(one.session_ids) for one in self._errands)
        if left and self._evaluators:
            command = f"rejudge session evaluate --agent {self._agent} --mode changed"
            self._output.note(f"the last {left:,} sessions are not judged yet: {command}")

    def _follow_up(self, now: float) -> None:
        with self._lock:
            arrivals, self._arrived = self._arrived, []
        self._waiting.add(arrivals, now)
        ready = self._waiting.ready(now)
        for errand in self._errands:
            errand.session_ids += ready
            errand.run(now)

    def _judge(self, session_ids: list[str]) -> None:
        from rejudge.models.requests import EvaluationRequest
        from rejudge.models.selection import Selection

        request = EvaluationRequest(
            selection=Selection(ids=tuple(session_ids)), evaluators=self._evaluators, mode="changed"
        )
        report = self._store.evaluations.run(request, say=self._output.note)
        self._output.note(report.sentence)

    def _tell_prefect(self, session_ids: list[str]) -> None:
        from rejudge.tasks.announcing import announce_arrivals

        announce_arrivals(self._agent, session_ids)


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    stop = threading.Event()

    def note(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
