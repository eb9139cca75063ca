"""Evaluator processes, kept between chunks and shared by threads."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from rejudge.scoring.environment import child_environment
from rejudge.scoring.inline import environment_for
from rejudge.scoring.outcome import Assignment, ScoringOutcome, SessionJob
from rejudge.scoring.supervisor import Worker
from rejudge.scoring.version import EvaluatorSpec


class _Place(NamedTuple):
    """What must be the same for two evaluators to share a process."""

    connection: tuple[tuple[str, str], ...]
    dependencies: tuple[str, ...] | None
    requires_python: str | None
    own: str
    """Digest of sources that come with modules of their own, whose names could clash with another script's."""
    concurrency: int


class WorkerPool:
    """Scores sessions in child processes. Use it as a context, from as many threads as you like.

    Evaluators share a process where they can: those with a connection, with inline dependencies, or with local
    modules of their own get processes of their own.

    Args:
        environment: Our own variables; what a child may see of them is chosen here.
        environments: Folder for the environments of scripts with inline dependencies.
        withheld: Names of variables that hold connections: only evaluators that were given one see it.
        idle: Processes kept between calls.
        in_flight: Sessions that one process of slow evaluators works on at once.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        environments: Path,
        withheld: Iterable[str] = (),
        idle: int = 8,
        in_flight: int = 8,
    ) -> None:
        self._environment = dict(environment)
        self._environments = environments
        self._withheld = frozenset(withheld)
        self._keep = idle
        self._in_flight = in_flight
        self._idle: list[tuple[_Place, Worker]] = []
        self._busy: list[Worker] = []
        self._lock = threading.Lock()
        self._closed = False
        self._shared: str | None = None
        self._drift: dict[str, list[str]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every idle process; one that is at work ends when its call does."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            shared, self._shared = self._shared, None
        for _, worker in idle:
            worker.close()
        if shared is not None:
            shutil.rmtree(shared, ignore_errors=True)

    def kill(self) -> None:
        """Ends every process at once, the ones at work too; what they had in flight ends with them.

        Give `score` a `stop` that is true by now: else it starts another process and goes on.
        """
        with self._lock:
            self._closed = True
            busy = list(self._busy)
        for worker in busy:
            worker.kill()
        self.close()

    @property
    def drift(self) -> dict[str, list[str]]:
        """By evaluator reference: what is not as it was when that version was registered (a dependency's version)."""
        with self._lock:
            return dict(self._drift)

    @property
    def log(self) -> str:
        """The newest of what evaluators printed in the processes that are idle now, without secrets."""
        with self._lock:
            return "".join(worker.log for _, worker in self._idle)

    def check(self, assignments: Sequence[Assignment]) -> None:
        """Loads every evaluator with its parameters and asks its own ``check_params``, before anything is scored.

        Raises:
            UsageError: For the first one that cannot be used.
        """
        for place, members in self._grouped(assignments, None).items():
            with self._worker(place) as worker:
                worker.check([assignments[number] for number in members])

    def score(
        self,
        assignments: Sequence[Assignment],
        jobs: Iterable[SessionJob],
        *,
        concurrency: int | None = None,
        stop: Callable[[], bool] | None = None,
        may_begin: Callable[[], bool] = lambda: True,
    ) -> Iterator[ScoringOutcome]:
        """The outcome of every scoring, each as soon as it is known, in no fixed order.

        Args:
            assignments: What `SessionJob.scorings` points into.
            jobs: Taken one by one where the evaluators share a process, else all at once.
            concurrency: Sessions in flight at once in one process; None: one, but several for evaluators that
                declare themselves slow.
            stop: Asked between sessions; once true, nothing more is sent. What was taken and not sent ends
                ``not_run``, what was not taken has no outcome.
            may_begin: Asked before each session is sent to a process, until it says so.
        """
        groups = self._grouped(assignments, concurrency)
        if len(groups) == 1:
            with self._worker(next(iter(groups))) as worker:
                yield from worker.score(assignments, jobs, stop=stop, may_begin=may_begin)
            return
        gathered = list(jobs)
        for place, members in groups.items():
            positions = {number: position for position, number in enumerate(members)}
            theirs = (part for job in gathered if (part := _part(job, positions)).scorings)
            with self._worker(place) as worker:
                mine = [assignments[number] for number in members]
                yield from worker.score(mine, theirs, stop=stop, may_begin=may_begin)

    def _grouped(self, assignments: Sequence[Assignment], concurrency: int | None) -> dict[_Place, list[int]]:
        groups: dict[_Place, list[int]] = defaultdict(list)
        for number, assignment in enumerate(assignments):
            own = self._in_flight if assignment.spec.mode == "slow" else 1
            groups[_place(assignment.spec, assignment.connection, concurrency or own)].append(number)
        return groups

    @contextmanager
    def _worker(self, place: _Place) -> Iterator[Worker]:
        worker = self._taken(place) or self._made(place)
        with self._lock:
            self._busy.append(worker)
        try:
            yield worker
        finally:
            self._put_back(place, worker)

    def _taken(self, place: _Place) -> Worker | None:
        with self._lock:
            for position in reversed(range(len(self._idle))):
                if self._idle[position][0] == place:
                    return self._idle.pop(position)[1]
        return None

    def _made(self, place: _Place) -> Worker:
        connection = dict(place.connection)
        environment = child_environment(
            self._environment, connection, withheld=self._withheld, shared=self._shared_folder()
        )
        if place.dependencies is None:
            return Worker(environment, connection=connection, concurrency=place.concurrency)
        home = environment_for(
            place.dependencies, place.requires_python, folder=self._environments, environment=self._environment
        )
        return Worker(
            environment,
            connection=connection,
            interpreter=home.interpreter,
            root=home.root,
            concurrency=place.concurrency,
        )

    def _shared_folder(self) -> str:
        """A folder that all of the processes may use while this pool is open."""
        with self._lock:
            self._shared = self._shared or tempfile.mkdtemp(prefix="rejudge-")
            return self._shared

    def _put_back(self, place: _Place, worker: Worker) -> None:
        with self._lock:
            self._busy.remove(worker)
            self._drift.update(worker.drift)
            surplus = None
            if self._closed:
                surplus = worker
            else:
                self._idle.append((place, worker))
                if len(self._idle) > self._keep:
                    _, surplus = self._idle.pop(0)
        if surplus is not None:
            surplus.close()


def _place(spec: EvaluatorSpec, connection: Mapping[str, str], concurrency: int) -> _Place:
    return _Place(
        connection=tuple(sorted(connection.items())),
        dependencies=spec.dependencies,
        requires_python=spec.requires_python,
        own=spec.source_digest or "" if len(spec.sources) > 1 else "",
        concurrency=concurrency,
    )


def _part(job: SessionJob, positions: Mapping[int, int]) -> SessionJob:
    scorings = [(key, positions[number]) for key, number in job.scorings if number in positions]
    return SessionJob(job.session, scorings)
