"""One evaluator process: started, asked, loaded with evaluators, ended, and started again."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import orjson

from rejudge.errors import RejudgeError, UsageError
from rejudge.models.canonical import digest_of
from rejudge.models.evaluation import ScoringStatus
from rejudge.scoring.child import Child, ChildDied
from rejudge.scoring.contract import without_stored_folder
from rejudge.scoring.environment import secrets_in
from rejudge.scoring.frames import pack
from rejudge.scoring.outcome import Assignment, ScoringOutcome, SessionJob
from rejudge.scoring.run import POLL, Run

START_LIMIT: Final = 60.0
"""Seconds that Python may take to start."""

LOAD_LIMIT: Final = 120.0
"""Seconds that importing an evaluator may take."""


class Broken(NamedTuple):
    """Why an assignment cannot score at all."""

    status: ScoringStatus
    error: str
    mend: str | None
    usage: bool


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
        self.concurrency = concurrency
        self.child: Child | None = None
        self.fresh = True
        """False once the process there is now has scored something."""
        self._numbers: dict[str, int] = {}
        self.loaded: dict[int, bool] = {}
        """By number, in the process there is now: whether it is async."""
        self.broken: dict[int, Broken] = {}
        """By number: what cannot be loaded, and why."""
        self.culprits: set[int] = set()
        """Numbers of assignments known to take their process down."""
        self.sequences = itertools.count(1)
        """Numbers of scorings: no two calls share one, so that nothing late is taken for another's."""
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
        child = self.start()
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
                    reply = self.decode(frame)
                    if isinstance(reply, dict):
                        return reply
        except ChildDied as death:
            error = ChildDied(self.mask(str(death)))
            self.stop()
            raise error from None
        self.stop()
        raise ChildDied(f"it took longer than {limit:g} s")

    def start(self) -> Child:
        """The process, started where there is none.

        Raises:
            RejudgeError: Where it cannot be, with what Python said.
        """
        if self.child is None or not self.child.alive:
            self.stop()
            self.child = Child(
                self._environment,
                interpreter=self._interpreter,
                root=self._root,
                concurrency=self.concurrency,
            )
            self.fresh = True
            self.child.send(pack(b'{"do":"hello"}'))
            try:
                self._reply(self.child, START_LIMIT)
            except ChildDied as death:
                raise RejudgeError(
                    f"an evaluator process cannot be started: {death}",
                    mend="the lines above are what Python said",
                ) from death
        return self.child

    def stop(self) -> None:
        """Kills the process; the next use starts another."""
        if self.child is not None:
            self.child.kill()
            self.child.close()
        self.child = None
        self.loaded = {}

    def kill(self) -> None:
        """Ends the process at once, from any thread; the one that uses it sees it die."""
        child = self.child
        if child is not None:
            child.kill()

    def close(self) -> None:
        """Ends the process."""
        if self.child is not None:
            self.child.close()
        self.child = None
        self.loaded = {}

    @property
    def log(self) -> str:
        """The newest of what the evaluators printed, without secrets."""
        return self.mask(self.child.log) if self.child is not None else ""

    def prepare(self, assignments: Sequence[Assignment]) -> list[int]:
        """Loads evaluators with their parameters; each one's number.

        One that cannot be loaded is remembered: its scorings end so, and nobody else's.
        """
        numbers = [self._number(assignment) for assignment in assignments]
        for number, assignment in zip(numbers, assignments, strict=True):
            if number not in self.broken and not self._is_loaded(number):
                self._load(number, assignment)
        # An evaluator that ended the process while it was loaded took the ones before it along.
        while missing := [
            (number, assignment)
            for number, assignment in zip(numbers, assignments, strict=True)
            if number not in self.broken and not self._is_loaded(number)
        ]:
            self._load(*missing[0])
        return numbers

    def check(self, assignments: Sequence[Assignment]) -> None:
        """Loads evaluators with their parameters.

        Raises:
            UsageError: For the first one that cannot be loaded.
        """
        for number, assignment in zip(self.prepare(assignments), assignments, strict=True):
            broken = self.broken.get(number)
            if broken is not None:
                raise UsageError(
                    broken.error if broken.usage else f"{assignment.spec.reference}: {broken.error}", mend=broken.mend
                )

    def _is_loaded(self, number: int) -> bool:
        return number in self.loaded and self.child is not None and self.child.alive

    def _number(self, assignment: Assignment) -> int:
        identity = digest_of([assignment.spec.model_dump(mode="json"), assignment.params])
        return self._numbers.setdefault(identity, len(self._numbers))

    def _load(self, number: int, assignment: Assignment) -> None:
        spec = assignment.spec
        message = {"do": "load", "number": number, "spec": spec.model_dump(mode="json"), "params": assignment.params}
        shared = bool(self.loaded)
        try:
            answer = self.ask(message, limit=LOAD_LIMIT)
        except ChildDied as death:
            if shared:  # what was loaded before it may be to blame
                self._load(number, assignment)
                return
            self.broken[number] = Broken("crashed", f"loading it ended its process: {death}", None, False)
        except UsageError as error:
            self.broken[number] = Broken("failed", error.message, error.mend, True)
        except RejudgeError as error:
            self.broken[number] = Broken("failed", f"it cannot be loaded: {error.message}", error.mend, False)
        else:
            self.loaded[number] = answer["is_async"]
            if answer["drift"]:
                self.drift[spec.reference] = answer["drift"]

    def score(
        self,
        assignments: Sequence[Assignment],
        jobs: Iterable[SessionJob],
        *,
        stop: Callable[[], bool] | None = None,
        may_begin: Callable[[], bool] = lambda: True,
    ) -> Iterator[ScoringOutcome]:
        """The outcome of every scoring, each as soon as it is known, in no fixed order.

        Args:
            assignments: What `SessionJob.scorings` points into.
            jobs: Taken one by one, a few ahead of what is being scored.
            stop: Asked between sessions; once true, nothing more is taken from `jobs` or sent. What was taken and
                not sent ends ``not_run``; what was not taken has no outcome.
            may_begin: Asked before each session is sent, again and again until it says so; meanwhile what is under
                way goes on.
        """
        return Run(self, assignments).outcomes(jobs, stop, may_begin)

    def decode(self, frame: bytes) -> Any:
        """The JSON of a frame, without secrets."""
        for _, inside in self._secrets:
            frame = frame.replace(inside, b"***")
        return orjson.loads(frame)

    def mask(self, text: str) -> str:
        """The text without secrets, and with stored scripts under their own names."""
        for secret, _ in self._secrets:
            text = text.replace(secret, "***")
        return without_stored_folder(text)


def _json_inside(text: str) -> bytes:
    return orjson.dumps(text)[1:-1]
