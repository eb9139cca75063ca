"""Looking at a script or a package to register it: it imports user code, so it runs in a process of its own."""

from __future__ import annotations

import inspect
import traceback
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rejudge.errors import UsageError
from rejudge.models.canonical import digest_of
from rejudge.scoring.contract import without_stored_folder
from rejudge.scoring.fingerprint import Walk, parts_of, walk_module, walk_script
from rejudge.scoring.load import attribute_of, is_async, package_module, public_functions, script_module
from rejudge.scoring.signature import Evaluator, parameters_of
from rejudge.scoring.version import MEMORY_LIMIT, TIME_LIMITS, EvaluatorSpec

_DEFAULT: Final = "evaluate"


def inspect_target(
    *,
    script: str | None = None,
    package: str | None = None,
    attribute: str | None = None,
    resolved: list[str] | None = None,
    declared: list[str] | None = None,
    requires_python: str | None = None,
) -> dict[str, Any]:
    """The version, not yet numbered, that a script or a package is now, as JSON.

    Args:
        script: Path of a Python file.
        package: Name of an installed module.
        attribute: The callable in it; None: ``evaluate``, or its only public function.
        resolved: Requirements of the environment this runs in, where the script has one of its own.
        declared: What the script asks for.
        requires_python: Likewise.

    Raises:
        UsageError: Naming file and line.
    """
    file = Path(script).name if script is not None else str(package)
    walk = _walked(script, file)
    try:
        module = script_module(file, walk.sources) if script is not None else package_module(file)
    except UsageError:
        raise
    except BaseException as error:
        raise UsageError(
            f"{_place(error, walk, file)}: importing it raises {type(error).__name__}: {error}", mend=_mend(error)
        ) from error
    name = attribute or _only_function(module, file)
    function = attribute_of(module, name, file)
    schema = parameters_of(function, where=_where(function, file, name)).schema()
    parts = parts_of(walk, attribute=name, schema=schema, resolved=None if resolved is None else tuple(resolved))
    constants = _constants(module, file)
    spec = EvaluatorSpec(
        fingerprint=parts.digest(),
        parts=parts,
        kind="package" if script is None else "script",
        entrypoint=f"{file}:{name}",
        sources=walk.sources,
        source_digest=None if script is None else digest_of(walk.sources),
        parameter_schema=schema,
        is_async=is_async(function),
        requires_python=requires_python,
        dependencies=None if resolved is None else tuple(resolved),
        declared_dependencies=None if declared is None else tuple(declared),
        description=_first_line(function, module),
        **constants,
    )
    return spec.model_dump(mode="json")


def _walked(script: str | None, file: str) -> Walk:
    try:
        return walk_module(file) if script is None else walk_script(file, Path(script).parent)
    except SyntaxError as error:
        raise UsageError(f"{error.filename or file}:{error.lineno or 0}: {error.msg}") from error
    except OSError as error:
        raise UsageError(f"{script or file} cannot be read: {error.strerror or error}") from error
    except LookupError as error:
        package_module(file)  # says what is missing
        raise UsageError(f"the source of module {file!r} cannot be found") from error


def _only_function(module: types.ModuleType, file: str) -> str:
    if callable(getattr(module, _DEFAULT, None)):
        return _DEFAULT
    names = [name for name in public_functions(module) if name != "check_params"]
    if len(names) == 1:
        return names[0]
    if not names:
        raise UsageError(f"{file} holds no function", mend="write def evaluate(session: SessionView, *, …)")
    listed = ", ".join(names)
    raise UsageError(f"{file} holds several functions: {listed}", mend=f"say which one: {file}:{names[0]}")


def _where(function: Evaluator, file: str, name: str) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return f"{file}:{code.co_firstlineno} {name}" if code is not None else f"{file}: {name}"


def _place(error: BaseException, walk: Walk, file: str) -> str:
    """File and line of the innermost frame that is the user's."""
    own = {*walk.sources, file}
    place = file
    for frame, line in traceback.walk_tb(error.__traceback__):
        name = without_stored_folder(frame.f_code.co_filename)
        module = frame.f_globals.get("__name__", "")
        if name in own or module in walk.code:
            place = f"{name}:{line}"
    return place


def _mend(error: BaseException) -> str | None:
    if isinstance(error, ModuleNotFoundError):
        return f"install {error.name}, or name it in the script's own dependencies (# /// script)"
    return None


def _first_line(function: Evaluator, module: types.ModuleType) -> str:
    text = inspect.getdoc(function) if inspect.isroutine(function) else None
    lines = (text or module.__doc__ or "").strip().splitlines()
    return lines[0].strip()[:200] if lines else ""


def _constants(module: types.ModuleType, file: str) -> dict[str, Any]:
    """What a module says about its evaluators in constants."""
    mode = _constant(module, file, "MODE", str) or "fast"
    if mode not in TIME_LIMITS:
        raise UsageError(f"{file}: MODE is {mode!r}; it is 'fast' or 'slow'")
    time_limit = _constant(module, file, "TIME_LIMIT", (int, float))
    memory_limit = _constant(module, file, "MEMORY_LIMIT", int)
    for name, limit in (("TIME_LIMIT", time_limit), ("MEMORY_LIMIT", memory_limit)):
        if limit is not None and not 0 < limit < float("inf"):
            raise UsageError(f"{file}: {name} is {limit!r}; it is a number above 0")
    schema = _constant(module, file, "CONNECTION_SCHEMA", Mapping)
    if schema is not None:
        _check_json(schema, file)
    return {
        "mode": mode,
        "time_limit": TIME_LIMITS[mode] if time_limit is None else float(time_limit),
        "memory_limit": MEMORY_LIMIT if memory_limit is None else memory_limit,
        "provider": _constant(module, file, "PROVIDER", str),
        "connection_schema": None if schema is None else dict(schema),
    }


def _constant(module: types.ModuleType, file: str, name: str, kind: Any) -> Any:
    value = getattr(module, name, None)
    if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
        raise UsageError(f"{file}: {name} is {value!r}, a {type(value).__name__}")
    return value


def _check_json(schema: Mapping[str, Any], file: str) -> None:
    try:
        digest_of(dict(schema))
    except ValueError as error:
        raise UsageError(f"{file}: CONNECTION_SCHEMA is no JSON: {error}") from error
