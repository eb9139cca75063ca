"""Evaluators from Python: writing, trying, registering, listing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejudge import settings
from rejudge.errors import UsageError
from rejudge.models.evaluation import check_name
from rejudge.models.session import SessionView
from rejudge.store.engine import Database
from rejudge.store.evaluators import (
    EvaluatorVersion,
    delete_evaluator,
    list_evaluator_versions,
    newest_number,
    register_evaluator,
    restore_evaluator_version,
)
from rejudge.store.reading import load_stored
from rejudge.store.selecting import resolve_ids

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
    latest: int = 0
    """The newest version's number: what ``@latest`` stands for. Old content again does not become it."""
    restored: bool = False
    """True where the version's stored content had been damaged, and is as it was registered again."""


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
        previous = _sound(earlier[-1]) if earlier else None
        spec = inspect(script=script, package=package, previous=previous)
        content = spec.model_dump(mode="json", exclude={"name", "number"})
        version, created = register_evaluator(self._database, name, spec.fingerprint, content)
        changes: Sequence[str] = ()
        if created and previous is not None:
            from rejudge.scoring.register import changes_between

            changes = changes_between(previous, spec)
        restored = not created and _sound(version) is None
        if restored:
            restore_evaluator_version(self._database, version, content)
        latest = newest_number(self._database, name) or version.number
        return Registered(version, created, tuple(changes), latest=latest, restored=restored)

    def test(
        self,
        target: str | Path,
        *,
        sessions: Sequence[WireSession | SessionView | str | int],
        params: Mapping[str, Any] | None = None,
        connection: str | None = None,
    ) -> Sequence[ScoringOutcome]:
        """Really calls an evaluator that need not be registered, in its own process, and stores nothing.

        Args:
            target: ``FILE.py``, ``FILE.py:attribute``, ``module:attribute``, or a reference (``name@2``).
            sessions: What it is to score: stored ones by number or id, or a `SessionView`.
            params: Its parameters.
            connection: Name of its credentials; None: those in its own variables.

        Raises:
            NotFound: Where a session or an evaluator is not there.
            UsageError: Where it is no evaluator, or params or the connection do not fit.
        """
        from rejudge.api.trying import target_spec, try_evaluator

        spec = target_spec(str(target)) or self.get(str(target))
        return try_evaluator(spec, self._wires(sessions), params=params, connection=connection)

    def _wires(self, sessions: Sequence[WireSession | SessionView | str | int]) -> Sequence[WireSession]:
        from rejudge.models.wire import WireSession, wire_of

        wires = []
        for one in sessions:
            if isinstance(one, WireSession):
                wires.append(one)
            elif isinstance(one, SessionView):
                wires.append(wire_of(one))
            else:
                with self._database.read() as connection:
                    ids = resolve_ids(connection, [str(one)])
                wires += load_stored(self._database, ids)
        return wires

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


def _sound(version: EvaluatorVersion) -> EvaluatorSpec | None:
    """What is stored of a version; None where it was damaged since."""
    from rejudge.scoring.fingerprint import parts_now
    from rejudge.scoring.version import EvaluatorSpec

    try:
        spec = EvaluatorSpec.stored(
            version.spec, name=version.name, number=version.number, fingerprint=version.fingerprint
        )
        spec.check_sources()
        whole = spec.kind == "package" or parts_now(spec).code == spec.parts.code
    except (UsageError, SyntaxError):
        return None
    return spec if whole else None
