"""Evaluators from Python: writing, trying, registering, listing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejudge import settings
from rejudge.errors import UsageError
from rejudge.models.evaluation import check_name
from rejudge.store.engine import Database
from rejudge.store.evaluators import (
    EvaluatorVersion,
    delete_evaluator,
    list_evaluator_versions,
    register_evaluator,
)

if TYPE_CHECKING:
    from rejudge.models.wire import WireSession
    from rejudge.scoring.outcome import ScoringOutcome
    from rejudge.scoring.version import EvaluatorSpec

RESERVED = "rejudge/"


@dataclass(frozen=True, slots=True)
class Registered:
    """What registering came to."""

    version: EvaluatorVersion
    created: bool
    """False where exactly this content was registered before."""
    changes: tuple[str, ...] = ()
    """What is different from the version before, one line each."""


class Evaluators:
    """Registered and built-in evaluators."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, name: str, *, script: str | Path | None = None, package: str | None = None) -> Registered:
        """Registers an evaluator: version 1 of a new name, the next version of changed content, or the one it is.

        Args:
            script: ``FILE.py`` or ``FILE.py:attribute``. Stored whole.
            package: ``module:attribute`` of an installed package, instead.

        Raises:
            UsageError: For a bad name, or code that is no evaluator, with file and line.
        """
        check_evaluator_name(name)
        earlier = list_evaluator_versions(self._database, name, deleted=True)
        previous = _spec(earlier[-1]) if earlier else None
        spec = inspect(script=script, package=package, previous=previous)
        version, created = register_evaluator(
            self._database, name, spec.fingerprint, spec.model_dump(mode="json", exclude={"name", "number"})
        )
        changes: Sequence[str] = ()
        if created and previous is not None:
            from rejudge.scoring.register import changes_between

            changes = changes_between(previous, spec)
        return Registered(version, created, tuple(changes))

    def test(
        self,
        target: str | Path,
        *,
        sessions: Sequence[WireSession],
        params: Mapping[str, Any] | None = None,
    ) -> list[ScoringOutcome]:
        """Really calls an evaluator that need not be registered, in its own process, and stores nothing.

        Args:
            target: ``FILE.py``, ``FILE.py:attribute``, ``module:attribute``, or a reference (``name@2``).
            sessions: What it is to score.
            params: Its parameters.
        """
        from rejudge.scoring.outcome import Assignment, SessionJob
        from rejudge.scoring.params import checked_params
        from rejudge.tasks.pools import make_pool

        spec = self._target(str(target))
        assignment = Assignment(spec, checked_params(spec, params or {}))
        jobs = [SessionJob(session, ((str(index), 0),)) for index, session in enumerate(sessions)]
        with make_pool() as pool:
            pool.check([assignment])
            outcomes = {outcome.key: outcome for outcome in pool.score([assignment], jobs)}
        return [outcomes[str(index)] for index in range(len(jobs))]

    def list(self, *, deleted: bool = False) -> list[EvaluatorVersion]:
        """Every version of every registered evaluator, by name and number."""
        return list_evaluator_versions(self._database, deleted=deleted)

    def get(self, reference: str) -> EvaluatorSpec:
        """All of the version that ``name@3``, ``name@latest`` or a bare name stands for, built-in or registered."""
        from rejudge.tasks.judges import find_spec

        return find_spec(self._database, reference)

    def delete(self, name: str) -> None:
        """Hides an evaluator from listing and use; its versions and rows stay.

        Raises:
            NotFound: Where there is none of this name.
        """
        delete_evaluator(self._database, name)

    def _target(self, target: str) -> EvaluatorSpec:
        if "@" in target and not Path(target).exists():
            return self.get(target)
        is_file = Path(target.partition(":")[0]).suffix == ".py" or Path(target).exists()
        spec = inspect(script=target) if is_file else inspect(package=target)
        name = Path(spec.file).stem if is_file else spec.attribute
        return spec.numbered(name.replace("_", "-").strip("-.") or "evaluator", 0)


def inspect(
    *, script: str | Path | None = None, package: str | None = None, previous: EvaluatorSpec | None = None
) -> EvaluatorSpec:
    """What a script or a packaged callable is as an evaluator, not yet numbered.

    Raises:
        UsageError: Where it is none, or both or neither are given.
    """
    from rejudge.scoring.register import inspect_package, inspect_script

    if (script is None) == (package is None):
        raise UsageError("give a script or a package", mend="use --script FILE.py, or --package module:attribute")
    environment = settings.environment_with({})
    if script is not None:
        environments = settings.current().home / "environments"
        return inspect_script(str(script), environment=environment, environments=environments, previous=previous)
    return inspect_package(str(package), environment=environment)


def check_evaluator_name(name: str) -> None:
    """Refuses a name that is not allowed for a user's evaluator.

    Raises:
        UsageError: With the rule.
    """
    if name.startswith(RESERVED):
        raise UsageError(f"the namespace {RESERVED!r} is reserved", mend="choose another namespace, or none")
    parts = name.split("/")
    try:
        if len(parts) > 2:
            raise ValueError(f"evaluator name {name!r} has more than one namespace")
        for part in parts:
            check_name(part, kind="evaluator")
    except ValueError as error:
        raise UsageError(str(error), mend="write NAME or NAMESPACE/NAME") from error


def _spec(version: EvaluatorVersion) -> EvaluatorSpec:
    from rejudge.scoring.version import EvaluatorSpec

    return EvaluatorSpec.model_validate(version.spec).numbered(version.name, version.number)
