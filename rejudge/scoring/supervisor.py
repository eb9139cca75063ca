"""One evaluator process kept at work: limits enforced by killing it, the rest carried on in a new one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from rejudge.errors import RejudgeError, UsageError
from rejudge.models.canonical import digest_of
from rejudge.models.evaluation import ScoringStatus
from rejudge.scoring.child import Child, ChildDied
from rejudge.scoring.contract import without_stored_folder
from rejudge.scoring.environment import secrets_in
from rejudge.scoring.frames import pack, pack_session
from rejudge.scoring.outcome import Assignment, ScoringOutcome, SessionJob

POLL: Final = 0.05
"""Seconds between two looks at a process's clock and memory."""

START_LIMIT: Final = 60.0
LOAD_LIMIT: Final = 120.0
"""Seconds that importing an evaluator may take."""

_AHEAD: Final = 8
_AHEAD_BYTES: Final = 4 * 1024 * 1024
_ASYNC_GRACE: Final = 1.0
"""Seconds after its limit at which an async evaluator that did not end itself is killed."""
_FAMILY_EVERY: Final = 1.0


class _Broken(NamedTuple):
    """Why an assignment cannot score at all."""

    status: ScoringStatus
    error: str
    mend: str | None
    usage: bool


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


@dataclass(slots=True, eq=False)
class _Run:
    """The state of one call of `Worker.score`."""

    assignments: Sequence[Assignment]
    numbers: dict[int, int]
    """The process's number of each assignment."""
    waiting: deque[_Scoring] = field(default_factory=deque)
    """What came back from a process that ended."""
    sent: deque[_Sent] = field(default_factory=deque)
    running: dict[int, _Scoring] = field(default_factory=dict)
    """In flight, by sequence number."""
    outcomes: deque[ScoringOutcome] = field(default_factory=deque)
    draining: bool = False
    """True once one of several in flight is overdue: the others end in peace, then the process is killed."""


class Worker:
    """One process at a time, started when needed and again when it ended; used by one thread at a time.

    Args:
        environment: Variables of the process, whole.
        connection: Those of them that are a connection: their secrets are taken out of what comes back.
        interpreter: The Python it runs on; None is ours.
        root: The folder that it imports rejudge from; None is ours.
        concurrency: Sessions it works on at once.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        connection: Mapping[str, str] | None = None,
        interpreter: str | None = None,
        root: str | None = None,
        concurrency: int = 1,
    ) -> None:
        self._environment = environment
        self._secrets = [(secret, _json_inside(secret)) for secret in secrets_in(connection or {})]
        self._interpreter = interpreter
        self._root = root
        self._concurrency = concurrency
        self._child: Child | None = None
        self._fresh = True
        self._numbers: dict[str, int] = {}
        self._loaded: dict[int, bool] = {}
        """By number, in the process there is now: whether it is async."""
        self._broken: dict[int, _Broken] = {}
        self._culprits: set[int] = set()
        """Numbers of assignments known to take their process down."""
        self._sequence = 0
        self._last_step = 0.0
        self._last_look = 0.0
        self._last_family = 0.0
        self.drift: dict[str, list[str]] = {}
        """By evaluator reference: what is not as it was when that version was registered."""

    # Requests that are answered before anything else happens.

    def ask(self, message: Mapping[str, Any], *, limit: float) -> Any:
        """What the process answers to a request, within `limit` seconds.

        Raises:
            UsageError: Where it refuses because of what was asked.
            ChildDied: Where the process ended over it, or was killed at the limit.
            RejudgeError: Where user code raised.
        """
        child = self._started()
        child.send(pack(orjson.dumps(message, default=str)))
        reply = self._reply(child, limit)
        if "refused" not in reply:
            return reply["answer"]
        refused = reply["refused"]
        kind = UsageError if refused["usage"] else RejudgeError
        raise kind(refused["message"], mend=refused["mend"])

    def _reply(self, child: Child, limit: float) -> dict[str, Any]:
        deadline = time.monotonic() + limit
        try:
            while time.monotonic() < deadline:
                for frame in child.exchange(min(POLL, deadline - time.monotonic())):
                    reply = self._decoded(frame)
                    if isinstance(reply, dict):
                        return reply
        except ChildDied as death:
            error = ChildDied(self._masked(str(death)))
            self._stop()
            raise error from None
        self._stop()
        raise ChildDied(f"it took longer than {limit:g} s")

    def _started(self) -> Child:
        if self._child is None or not self._child.alive:
            self._stop()
            self._child = Child(
                self._environment,
                interpreter=self._interpreter,
                root=self._root,
                concurrency=self._concurrency,
            )
            self._fresh = True
            self._child.send(pack(b'{"do":"hello"}'))
            try:
                self._reply(self._child, START_LIMIT)
            except ChildDied as death:
                raise RejudgeError(
                    f"an evaluator process cannot be started: {death}",
                    mend="the lines above are what Python said",
                ) from death
        return self._child

    def _stop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.close()
        self._child = None
        self._loaded = {}

    def kill(self) -> None:
        """Ends the process at once, from any thread; the one that uses it sees it die."""
        child = self._child
        if child is not None:
            child.kill()

    def close(self) -> None:
        """Ends the process."""
        if self._child is not None:
            self._child.close()
        self._child = None
        self._loaded = {}

    @property
    def log(self) -> str:
        """The newest of what the evaluators printed, without secrets."""
        return self._masked(self._child.log) if self._child is not None else ""

    def prepare(self, assignments: Sequence[Assignment]) -> list[int]:
        """Loads evaluators with their parameters; each one's number.

        One that cannot be loaded is remembered: its scorings end so, and nobody else's.
        """
        numbers = [self._number(assignment) for assignment in assignments]
        for number, assignment in zip(numbers, assignments, strict=True):
            if number not in self._broken and not self._is_loaded(number):
                self._load(number, assignment)
        # An evaluator that ended the process while it was loaded took the ones before it along.
        while missing := [
            (number, assignment)
            for number, assignment in zip(numbers, assignments, strict=True)
            if number not in self._broken and not self._is_loaded(number)
        ]:
            self._load(*missing[0])
        return numbers

    def check(self, assignments: Sequence[Assignment]) -> None:
        """Loads evaluators with their parameters.

        Raises:
            UsageError: For the first one that cannot be loaded.
        """
        for number, assignment in zip(self.prepare(assignments), assignments, strict=True):
            broken = self._broken.get(number)
            if broken is not None:
                raise UsageError(
                    broken.error if broken.usage else f"{assignment.spec.reference}: {broken.error}", mend=broken.mend
                )

    def _is_loaded(self, number: int) -> bool:
        return number in self._loaded and self._child is not None and self._child.alive

    def _number(self, assignment: Assignment) -> int:
        identity = digest_of([assignment.spec.model_dump(mode="json"), assignment.params])
        return self._numbers.setdefault(identity, len(self._numbers))

    def _load(self, number: int, assignment: Assignment) -> None:
        spec = assignment.spec
        message = {"do": "load", "number": number, "spec": spec.model_dump(mode="json"), "params": assignment.params}
        shared = bool(self._loaded)
        try:
            answer = self.ask(message, limit=LOAD_LIMIT)
        except ChildDied as death:
            if shared:  # what was loaded before it may be to blame
                self._load(number, assignment)
                return
            self._broken[number] = _Broken("crashed", f"loading it ended its process: {death}", None, False)
        except UsageError as error:
            self._broken[number] = _Broken("failed", error.message, error.mend, True)
        except RejudgeError as error:
            self._broken[number] = _Broken("failed", f"it cannot be loaded: {error.message}", error.mend, False)
        else:
            self._loaded[number] = answer["is_async"]
            if answer["drift"]:
                self.drift[spec.reference] = answer["drift"]

    # Scoring.

    def score(
        self,
        assignments: Sequence[Assignment],
        jobs: Iterable[SessionJob],
        *,
        stop: Callable[[], bool] | None = None,
    ) -> Iterator[ScoringOutcome]:
        """The outcome of every scoring, each as soon as it is known, in no fixed order.

        Args:
            assignments: What `SessionJob.scorings` points into.
            jobs: Taken one by one, a few ahead of what is being scored.
            stop: Asked between sessions; once true, nothing more is taken from `jobs` or sent. What was taken and
                not sent ends ``not_run``; what was not taken has no outcome.
        """
        run = _Run(assignments, dict(enumerate(self.prepare(assignments))))
        source = iter(jobs)
        exhausted = False
        try:
            while True:
                exhausted = self._give_up(run) if stop is not None and stop() else self._fill(run, source)
                yield from _drained(run.outcomes)
                if exhausted and not run.sent and not run.waiting:
                    return
                if run.sent:
                    self._step(run)
                    yield from _drained(run.outcomes)
        finally:
            if run.sent:  # the caller stopped listening, or an error ends all: what is in there is nobody's any more
                self._stop()

    def _give_up(self, run: _Run) -> bool:
        while run.waiting:
            run.outcomes.append(ScoringOutcome(run.waiting.popleft().key, "not_run", error="stopped before its turn"))
        return True

    def _fill(self, run: _Run, source: Iterator[SessionJob]) -> bool:
        """Sends what the process can take; True once there is nothing left to take from `source`."""
        while self._has_room(run):
            if run.waiting:
                if not self._send_again(run):
                    return False
                continue
            job = next(source, None)
            if job is None:
                return True
            scorings: deque[_Scoring] = deque()
            for key, assignment in job.scorings:
                self._sequence += 1
                scorings.append(_Scoring(key, assignment, job, self._sequence))
            self._send(run, job, scorings)
        return False

    def _has_room(self, run: _Run) -> bool:
        if run.draining or any(scoring.alone for sent in run.sent for scoring in sent.scorings):
            return False
        if self._concurrency > 1:
            return len(run.sent) < self._concurrency
        return len(run.sent) < _AHEAD and sum(sent.size for sent in run.sent) < _AHEAD_BYTES

    def _send_again(self, run: _Run) -> bool:
        """Sends what came back; False where it must wait for the process to be its own."""
        first = run.waiting[0]
        if first.alone:
            if run.sent:
                return False
            if not self._fresh:
                self._stop()
            self._send(run, first.job, deque([run.waiting.popleft()]))
            return False
        together: deque[_Scoring] = deque()
        while run.waiting and run.waiting[0].job is first.job and not run.waiting[0].alone:
            together.append(run.waiting.popleft())
        self._send(run, first.job, together)
        return True

    def _send(self, run: _Run, job: SessionJob, scorings: deque[_Scoring]) -> None:
        if not run.sent:
            self._started()
            if any(number not in self._loaded and number not in self._broken for number in run.numbers.values()):
                self.prepare(run.assignments)
        able: deque[_Scoring] = deque()
        for scoring in scorings:
            broken = self._broken.get(run.numbers[scoring.assignment])
            if broken is None:
                able.append(scoring)
            else:
                run.outcomes.append(ScoringOutcome(scoring.key, broken.status, error=broken.error))
        if not able:
            return
        child = self._child
        assert child is not None
        frame = pack_session(job.session, [(one.sequence, run.numbers[one.assignment]) for one in able])
        child.send(frame)
        run.sent.append(_Sent(able, len(frame)))
        if self._concurrency == 1:
            self._begin_next(run)

    def _begin_next(self, run: _Run) -> None:
        """One at a time and in order: the first that is not answered is the one in flight."""
        if run.running or not run.sent:
            return
        self._begin(run, run.sent[0].scorings[0])

    def _begin(self, run: _Run, scoring: _Scoring) -> None:
        scoring.started = time.monotonic()
        scoring.first_held = -1
        run.running[scoring.sequence] = scoring

    def _step(self, run: _Run) -> None:
        """Takes what has arrived, and looks at the clock and the memory."""
        child = self._child
        assert child is not None
        now = time.monotonic()
        if now - self._last_step > 10 * POLL:
            # The caller was busy, or we were all asleep: that time is not the evaluator's.
            for scoring in run.running.values():
                scoring.started += max(0.0, now - max(self._last_step, scoring.started))
        try:
            for frame in child.exchange(POLL):
                self._take(run, self._decoded(frame))
        except ChildDied as death:
            self._bury(run, f"its process ended: {self._masked(str(death))}")
            return
        except (TypeError, ValueError, KeyError) as error:  # user code wrote frames of its own
            self._bury(run, f"its process sent what is no answer: {error}")
            return
        self._last_step = now = time.monotonic()
        if now - self._last_look >= POLL:
            self._last_look = now
            self._look(run, child, now)

    def _take(self, run: _Run, reply: Any) -> None:
        if isinstance(reply, dict):
            sequence = reply["begin"]
            scoring = next((one for sent in run.sent for one in sent.scorings if one.sequence == sequence), None)
            if scoring is not None:
                self._begin(run, scoring)
            return
        sequence, status, results, error, retryable, retry_after, seconds = reply
        scoring = self._ended(run, sequence)
        if scoring is None:
            return
        limit = self._own_limit(run, scoring)
        if min(seconds, time.monotonic() - scoring.started) > limit:  # it came back before it was killed
            status, results, error, retryable = "timed_out", [], _too_long(limit), False
        run.outcomes.append(
            ScoringOutcome(scoring.key, status, tuple(results), error, retryable, retry_after, seconds)
        )
        self._fresh = False
        if self._concurrency == 1:
            self._begin_next(run)

    def _ended(self, run: _Run, sequence: int) -> _Scoring | None:
        run.running.pop(sequence, None)
        for sent in run.sent:
            for scoring in sent.scorings:
                if scoring.sequence == sequence:
                    sent.scorings.remove(scoring)
                    if not sent.scorings:
                        run.sent.remove(sent)
                    return scoring
        return None

    # Limits, and ends.

    def _look(self, run: _Run, child: Child, now: float) -> None:
        if not run.running:
            if run.draining:
                self._requeue(run)
                self._stop()
            return
        longest = max(now - scoring.started for scoring in run.running.values())
        with_children = longest > _FAMILY_EVERY and now - self._last_family > _FAMILY_EVERY
        if with_children:
            self._last_family = now
        held = child.resident_bytes(with_children=with_children)
        limit = sum(run.assignments[scoring.assignment].spec.memory_limit for scoring in run.running.values())
        for scoring in run.running.values():
            if scoring.first_held < 0:
                scoring.first_held = held
        if held > limit:
            grown = all(scoring.first_held < limit / 2 for scoring in run.running.values())
            why = f"its process held {_size(held)} of memory, more than its limit of {_size(limit)}"
            self._bury(run, why, sure=grown)
            return
        self._end_the_overdue(run, now)

    def _end_the_overdue(self, run: _Run, now: float) -> None:
        overdue = [scoring for scoring in run.running.values() if now - scoring.started > self._limit(run, scoring)]
        if not overdue:
            return
        if self._concurrency > 1 and any(self._is_async(run, scoring) for scoring in overdue):
            # Its own loop should have cancelled it: something blocks the loop, and it may be another one.
            self._bury(run, _too_long(self._own_limit(run, overdue[0])), status="timed_out")
            return
        for scoring in overdue:
            self._ended(run, scoring.sequence)
            run.outcomes.append(self._timed_out(run, scoring, now))
        if run.running:  # what the others have cost so far would be lost
            run.draining = True
            return
        self._requeue(run)
        self._stop()

    def _timed_out(self, run: _Run, scoring: _Scoring, now: float) -> ScoringOutcome:
        error = _too_long(self._own_limit(run, scoring))
        return ScoringOutcome(scoring.key, "timed_out", error=error, duration_seconds=now - scoring.started)

    def _own_limit(self, run: _Run, scoring: _Scoring) -> float:
        return run.assignments[scoring.assignment].spec.time_limit

    def _limit(self, run: _Run, scoring: _Scoring) -> float:
        return self._own_limit(run, scoring) + (_ASYNC_GRACE if self._is_async(run, scoring) else 0)

    def _is_async(self, run: _Run, scoring: _Scoring) -> bool:
        return self._loaded.get(run.numbers[scoring.assignment], False)

    def _bury(self, run: _Run, why: str, *, status: ScoringStatus = "crashed", sure: bool = False) -> None:
        """Ends the process, blames the scoring that it ended over, and takes the others back.

        Where someone else may be to blame (a thread that another evaluator left behind, memory that it never gave
        back, others in flight), the scoring is tried once more by itself, in a process of its own.
        """
        now = time.monotonic()
        running = list(run.running.values())
        if len(running) == 1 and (sure or self._is_proven(run, running[0])):
            culprit = running[0]
            self._ended(run, culprit.sequence)
            self._culprits.add(run.numbers[culprit.assignment])
            run.outcomes.append(
                ScoringOutcome(culprit.key, status, error=why, duration_seconds=now - culprit.started)
            )
        else:
            for scoring in running:
                scoring.alone = True
        self._requeue(run)
        self._stop()

    def _is_proven(self, run: _Run, scoring: _Scoring) -> bool:
        return scoring.alone or self._fresh or run.numbers[scoring.assignment] in self._culprits

    def _requeue(self, run: _Run) -> None:
        back = [scoring for sent in run.sent for scoring in sent.scorings]
        run.waiting.extendleft(reversed([scoring for scoring in back if not scoring.alone]))
        run.waiting.extend(scoring for scoring in back if scoring.alone)
        run.sent.clear()
        run.running.clear()
        run.draining = False

    def _decoded(self, frame: bytes) -> Any:
        for _, inside in self._secrets:
            frame = frame.replace(inside, b"***")
        return orjson.loads(frame)

    def _masked(self, text: str) -> str:
        for secret, _ in self._secrets:
            text = text.replace(secret, "***")
        return without_stored_folder(text)


def _drained(outcomes: deque[ScoringOutcome]) -> Iterator[ScoringOutcome]:
    while outcomes:
        yield outcomes.popleft()


def _json_inside(text: str) -> bytes:
    return orjson.dumps(text)[1:-1]


def _too_long(limit: float) -> str:
    return f"it took longer than its limit of {limit:g} s"


def _size(count: int) -> str:
    return f"{count / 1024**2:,.0f} MiB"
