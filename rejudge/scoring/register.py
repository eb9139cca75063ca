"""From a file or an installed module to an evaluator version."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import decode_source
from pathlib import Path
from typing import Any

from rejudge.errors import RejudgeError, UsageError
from rejudge.scoring.child import ChildDied
from rejudge.scoring.environment import child_environment
from rejudge.scoring.fingerprint import changed_parameters, changes
from rejudge.scoring.inline import Declared, declared_in, environment_for, resolve
from rejudge.scoring.supervisor import LOAD_LIMIT, Worker
from rejudge.scoring.version import EvaluatorSpec


def inspect_script(
    target: str, *, environment: Mapping[str, str], environments: Path, previous: EvaluatorSpec | None = None
) -> EvaluatorSpec:
    """The version, not yet numbered, that a script is now. Its code is imported in a process of its own.

    Args:
        target: ``FILE`` or ``FILE:attribute``.
        environment: Our own variables.
        environments: Folder for the environments of scripts with inline dependencies.
        previous: The newest registered version: where the script asks for the same distributions, its pins stay.

    Raises:
        UsageError: Naming file and line.
    """
    path, attribute = _split(target)
    try:
        source = decode_source(path.read_bytes())
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    request: dict[str, Any] = {"script": str(path.absolute()), "attribute": attribute}
    declared = declared_in(source, path.name)
    if declared is None:
        return _inspected(request, Worker(child_environment(environment, {})), path.name)
    resolved = _pins(declared, previous) or resolve(declared, environment=environment)
    home = environment_for(resolved, declared.requires_python, folder=environments, environment=environment)
    request |= {
        "resolved": list(resolved),
        "declared": list(declared.dependencies),
        "requires_python": declared.requires_python,
    }
    worker = Worker(child_environment(environment, {}), interpreter=home.interpreter, root=home.root)
    return _inspected(request, worker, path.name)


def inspect_package(target: str, *, environment: Mapping[str, str]) -> EvaluatorSpec:
    """The version, not yet numbered, that a callable of an installed module is now.

    Args:
        target: ``module`` or ``module:attribute``.
        environment: Our own variables.

    Raises:
        UsageError: Naming file and line.
    """
    module, _, attribute = target.partition(":")
    if not all(part.isidentifier() for part in module.split(".")) or (":" in target and not attribute):
        raise UsageError(f"{target!r} is no module:attribute", mend="write package.module:function")
    request = {"package": module, "attribute": attribute or None}
    return _inspected(request, Worker(child_environment(environment, {})), module)


def changes_between(old: EvaluatorSpec, new: EvaluatorSpec) -> list[str]:
    """What makes two versions different, one line each: code, parameters, a dependency's version."""
    lines = [line for line in changes(old.parts, new.parts) if not line.startswith("parameters:")]
    return lines + changed_parameters(old.parameter_schema, new.parameter_schema)


def _split(target: str) -> tuple[Path, str | None]:
    path, colon, attribute = target.rpartition(":")
    if colon and not Path(target).exists() and all(part.isidentifier() for part in attribute.split(".")):
        return Path(path), attribute
    return Path(target), None


def _pins(declared: Declared, previous: EvaluatorSpec | None) -> tuple[str, ...] | None:
    if previous is None or previous.declared_dependencies != declared.dependencies:
        return None
    return previous.dependencies if previous.requires_python == declared.requires_python else None


def _inspected(request: dict[str, Any], worker: Worker, file: str) -> EvaluatorSpec:
    try:
        found = worker.ask({"do": "inspect", "target": request}, limit=LOAD_LIMIT)
    except ChildDied as death:
        raise UsageError(f"{file}: importing it ended its process: {death}") from death
    except UsageError:
        raise
    except RejudgeError as error:
        raise UsageError(f"{file}: {error.message}", mend=error.mend) from error
    finally:
        worker.close()
    return EvaluatorSpec.model_validate(found)
