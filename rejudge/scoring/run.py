"""One call of a worker: sessions sent ahead, results taken, limits enforced by killing, the rest carried on."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rejudge.models.evaluation import ScoringStatus
from rejudge.scoring.child import Child, ChildDied
from rejudge.scoring.frames import pack_session
from rejudge.scoring.outcome import Assignment, ScoringOutcome, SessionJob

if TYPE_CHECKING:
    from rejudge.scoring.supervisor import Worker

POLL: Final = 0.05
"""Seconds between two looks at a process's clock and memory."""

_AHEAD: Final = 8
"""Sessions that a process has at hand: what was sent is scored, even where nobody wants it any more."""
_AHEAD_OF_QUICK: Final = 32
"""The same where scorings take less than `_QUICK` seconds, and would be over while replies are gathered."""
_QUICK: Final = 0.001
_AHEAD_BYTES: Final = 4 * 1024 * 1024
_ASYNC_GRACE: Final = 1.0
"""Seconds after its limit at which an async evaluator that did not end itself is killed."""
_FAMILY_EVERY: Final = 1.0
"""Seconds between two looks at the memory of processes that the evaluator started: finding them is dear."""


@dataclass(slots=True, eq=False)
class _Scoring:
    """One scoring on its way."""

    key: str
    assignment: int
    job: SessionJob
    sequence: int
    alone: bool = False
    """True once a process ended while it ran, and someone else may have been to blame: it is tried by itself."""
    started: float = 0.0
    first_held: int = -1
    """Bytes the process held at the first look after it started; -1 before that."""


@dataclass(slots=True, eq=False)
class _Sent:
    """One session in the process."""

    scorings: deque[_Scoring]
    size: int


class Run:
    """The state of one call.

    Args:
        worker: Holds the process.
        assignments: What the jobs point into.
    """

    def __init__(self, worker: Worker, assignments: Sequence[Assignment]) -> None:
        self._worker = worker
        self._assignments = assignments
        self._numbers: list[int] = []
        """The process's number of each assignment."""
        self._next: SessionJob | None = None
        """Taken, and not yet allowed to begin."""
        self._waiting: deque[_Scoring] = deque()
        """What came back from a process that ended."""
        self._sent: deque[_Sent] = deque()
        self._running: dict[int, _Scoring] = {}
        """In flight, by sequence number."""
        self._outcomes: deque[ScoringOutcome] = deque()
        self._ahead = _AHEAD
        self._draining = False
        """True once one of several in flight is overdue: the others end in peace, then the process is killed."""
        self._last_step = self._last_look = self._last_family = time.monotonic()

    def outcomes(
        self, jobs: Iterable[SessionJob], stop: Callable[[], bool] | None, may_begin: Callable[[], bool]
    ) -> Iterator[ScoringOutcome]:
        """See `Worker.score`."""
        self._numbers = self._worker.prepare(self._assignments)
        source = iter(jobs)
        try:
            while True:
                exhausted = self._give_up() if stop is not None and stop() else self._fill(source, may_begin)
                yield from self._drained()
                if exhausted and not self._sent and not self._waiting:
                    return
                if self._sent:
                    self._step()
                    yield from self._drained()
                elif self._next is not None:
                    time.sleep(POLL)
        finally:
            # The caller stopped listening, or an error ends all, or one that is overdue still runs: what is in there
            # is nobody's any more.
            if self._sent or self._draining:
                self._worker.stop()

    def _drained(self) -> Iterator[ScoringOutcome]:
        while self._outcomes:
            yield self._outcomes.popleft()

    def _give_up(self) -> bool:
        while self._waiting:
            self._outcomes.append(
                ScoringOutcome(self._waiting.popleft().key, "not_run", error="stopped before its turn")
            )
        return True

    def _fill(self, source: Iterator[SessionJob], may_begin: Callable[[], bool]) -> bool:
        """Sends what the process can take; True once there is nothing left to take from `source`."""
        while self._has_room():
            if self._waiting:
                if not self._send_again():
                    return False
                continue
            job = self._next = self._next or next(source, None)
            if job is None:
                return True
            if not may_begin():
                return False
            self._next = None
            scorings: deque[_Scoring] = deque()
            for key, assignment in job.scorings:
                scorings.append(_Scoring(key, assignment, job, next(self._worker.sequences)))
            self._send(job, scorings)
        return False

    def _has_room(self) -> bool:
        if self._draining or any(scoring.alone for sent in self._sent for scoring in sent.scorings):
            return False
        if self._worker.concurrency > 1:
            return len(self._sent) < self._worker.concurrency
        return len(self._sent) < self._ahead and sum(sent.size for sent in self._sent) < _AHEAD_BYTES

    def _send_again(self) -> bool:
        """Sends what came back; False where it must wait for the process to be its own."""
        first = self._waiting[0]
        if first.alone:
            if self._sent:
                return False
            if not self._worker.fresh:
                self._worker.stop()
            self._send(first.job, deque([self._waiting.popleft()]))
            return False
        together: deque[_Scoring] = deque()
        while self._waiting and self._waiting[0].job is first.job and not self._waiting[0].alone:
            together.append(self._waiting.popleft())
        self._send(first.job, together)
        return True

    def _send(self, job: SessionJob, scorings: deque[_Scoring]) -> None:
        if not self._sent:
            self._worker.start()
            if any(
                number not in self._worker.loaded and number not in self._worker.broken for number in self._numbers
            ):
                self._worker.prepare(self._assignments)
        able: deque[_Scoring] = deque()
        for scoring in scorings:
            broken = self._worker.broken.get(self._numbers[scoring.assignment])
            if broken is None:
                able.append(scoring)
            else:
                self._outcomes.append(ScoringOutcome(scoring.key, broken.status, error=broken.error))
        if not able:
            return
        child = self._worker.child
        assert child is not None
        frame = pack_session(job.session, [(one.sequence, self._numbers[one.assignment]) for one in able])
        child.send(frame)
        self._sent.append(_Sent(able, len(frame)))
        if self._worker.concurrency == 1:
            self._begin_next()

    def _begin_next(self) -> None:
        """One at a time and in order: the first that is not answered is the one in flight."""
        if self._running or not self._sent:
            return
        self._begin(self._sent[0].scorings[0])

    def _begin(self, scoring: _Scoring) -> None:
        scoring.started = time.monotonic()
        scoring.first_held = -1
        self._running[scoring.sequence] = scoring

    def _step(self) -> None:
        """Takes what has arrived, and looks at the clock and the memory."""
        child = self._worker.child
        assert child is not None
        now = time.monotonic()
        if now - self._last_step > 10 * POLL:
            # The caller was busy, or we were all asleep: that time is not the evaluator's.
            for scoring in self._running.values():
                scoring.started += max(0.0, now - max(self._last_step, scoring.started))
        try:
            for frame in child.exchange(POLL):
                self._take(self._worker.decode(frame))
        except ChildDied as death:
            self._bury(f"its process ended: {self._worker.mask(str(death))}")
            return
        except (TypeError, ValueError, KeyError) as error:  # user code wrote frames of its own
            self._bury(f"its process sent what is no answer: {error}")
            return
        self._last_step = now = time.monotonic()
        if now - self._last_look >= POLL:
            self._last_look = now
            self._look(child, now)

    def _take(self, reply: Any) -> None:
        if isinstance(reply, dict):
            sequence = reply["begin"]
            scoring = next((one for sent in self._sent for one in sent.scorings if one.sequence == sequence), None)
            if scoring is not None:
                self._begin(scoring)
            return
        sequence, status, results, error, retryable, retry_after, seconds = reply
        scoring = self._ended(sequence)
        if scoring is None:
            return
        limit = self._own_limit(scoring)
        if min(seconds, time.monotonic() - scoring.started) > limit:  # it came back before it was killed
            status, results, error, retryable = "timed_out", [], _too_long(limit), False
        self._outcomes.append(
            ScoringOutcome(scoring.key, status, tuple(results), error, retryable, retry_after, seconds)
        )
        self._worker.fresh = False
        self._ahead = _AHEAD_OF_QUICK if seconds < _QUICK else _AHEAD
        if self._worker.concurrency == 1:
            self._begin_next()

    def _ended(self, sequence: int) -> _Scoring | None:
        self._running.pop(sequence, None)
        for sent in self._sent:
            for scoring in sent.scorings:
                if scoring.sequence == sequence:
                    sent.scorings.remove(scoring)
                    if not sent.scorings:
                        self._sent.remove(sent)
                    return scoring
        return None

    def _look(self, child: Child, now: float) -> None:
        if not self._running:
            if self._draining:
                self._requeue()
                self._worker.stop()
            return
        longest = max(now - scoring.started for scoring in self._running.values())
        with_children = longest > _FAMILY_EVERY and now - self._last_family > _FAMILY_EVERY
        if with_children:
            self._last_family = now
        held = child.resident_bytes(with_children=with_children)
        limit = sum(self._assignments[scoring.assignment].spec.memory_limit for scoring in self._running.values())
        for scoring in self._running.values():
            if scoring.first_held < 0:
                scoring.first_held = held
        if held > limit:
            grown = all(scoring.first_held < limit / 2 for scoring in self._running.values())
            why = f"its process held {_size(held)} of memory, more than its limit of {_size(limit)}"
            self._bury(why, sure=grown)
            return
        self._end_the_overdue(now)

    def _end_the_overdue(self, now: float) -> None:
        overdue = [scoring for scoring in self._running.values() if now - scoring.started > self._limit(scoring)]
        if not overdue:
            return
        if self._worker.concurrency > 1 and any(self._is_async(scoring) for scoring in overdue):
            # Its own loop should have cancelled it: something blocks the loop, and it may be another one.
            self._bury(_too_long(self._own_limit(overdue[0])), status="timed_out")
            return
        for scoring in overdue:
            self._ended(scoring.sequence)
            self._outcomes.append(self._timed_out(scoring, now))
        if self._running:  # what the others have cost so far would be lost
            self._draining = True
            return
        self._requeue()
        self._worker.stop()

    def _timed_out(self, scoring: _Scoring, now: float) -> ScoringOutcome:
        error = _too_long(self._own_limit(scoring))
        return ScoringOutcome(scoring.key, "timed_out", error=error, duration_seconds=now - scoring.started)

    def _own_limit(self, scoring: _Scoring) -> float:
        return self._assignments[scoring.assignment].spec.time_limit

    def _limit(self, scoring: _Scoring) -> float:
        return self._own_limit(scoring) + (_ASYNC_GRACE if self._is_async(scoring) else 0)

    def _is_async(self, scoring: _Scoring) -> bool:
        return self._worker.loaded.get(self._numbers[scoring.assignment], False)

    def _bury(self, why: str, *, status: ScoringStatus = "crashed", sure: bool = False) -> None:
        """Ends the process, blames the scoring that it ended over, and takes the others back.

        Where someone else may be to blame (a thread that another evaluator left behind, memory that it never gave
        back, others in flight), the scoring is tried once more by itself, in a process of its own.
        """
        now = time.monotonic()
        # One that ended between two scorings has at least not got past the first that it was sent.
        running = list(self._running.values()) or [self._sent[0].scorings[0]]
        if len(running) == 1 and (sure or self._is_proven(running[0])):
            culprit = running[0]
            self._ended(culprit.sequence)
            self._worker.culprits.add(self._numbers[culprit.assignment])
            self._outcomes.append(
                ScoringOutcome(culprit.key, status, error=why, duration_seconds=now - culprit.started)
            )
        else:
            for scoring in running:
                scoring.alone = True
        self._requeue()
        self._worker.stop()

    def _is_proven(self, scoring: _Scoring) -> bool:
        return scoring.alone or self._worker.fresh or self._numbers[scoring.assignment] in self._worker.culprits

    def _requeue(self) -> None:
        back = [scoring for sent in self._sent for scoring in sent.scorings]
        self._waiting.extendleft(reversed([scoring for scoring in back if not scoring.alone]))
        self._waiting.extend(scoring for scoring in back if scoring.alone)
        self._sent.clear()
        self._running.clear()
        self._draining = False


def _too_long(limit: float) -> str:
    return f"it took longer than its limit of {limit:g} s"


def _size(count: int) -> str:
    return f"{count / 1024**2:,.0f} MiB"
