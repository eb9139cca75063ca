"""Importing an evaluator version, inside its own process."""

from __future__ import annotations

import copy
import hashlib
import importlib
import importlib.abc
import importlib.util
import inspect
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import PurePosixPath
from typing import Any, Final

from rejudge.errors import RejudgeError, UsageError
from rejudge.scoring.contract import STORED_FOLDER
from rejudge.scoring.signature import Evaluator, parameters_of
from rejudge.scoring.version import RESERVED, EvaluatorSpec

_PLAIN: Final = (str, int, float, bool, bytes, type(None))


@dataclass(frozen=True, slots=True)
class Loaded:
    """An evaluator ready to be called."""

    spec: EvaluatorSpec
    function: Evaluator
    values: dict[str, Any]
    is_async: bool
    drift: list[str]
    """What is not as it was when this version was registered, and does not keep it from running."""
    shared: bool
    """True where no value can be changed by a call."""

    def call(self, view: Any) -> Any:
        """Calls it; what it does to its parameters is gone with the call."""
        return self.function(view, **(self.values if self.shared else copy.deepcopy(self.values)))


def load(spec: EvaluatorSpec, params: Mapping[str, Any]) -> Loaded:
    """The evaluator of a version, bound to parameters.

    Raises:
        UsageError: Where the version is not what was registered, or the parameters do not fit.
        BaseException: Whatever its code raises while it is imported.
    """
    spec.check_sources()
    module = script_module(spec.file, spec.sources) if spec.kind == "script" else package_module(spec.file)
    function = attribute_of(module, spec.attribute, spec.file)
    drift = _check_installed(spec)
    parameters = parameters_of(function, where=spec.entrypoint)
    values = parameters.values(params)
    check_params(module, values, spec.reference)
    return Loaded(
        spec=spec,
        function=function,
        values=values,
        is_async=is_async(function),
        drift=drift,
        shared=all(isinstance(value, _PLAIN) for value in values.values()),
    )


def package_module(name: str) -> types.ModuleType:
    """An installed module.

    Raises:
        UsageError: Where there is none of that name. What its own code raises passes through.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise UsageError(
                f"there is no module {name!r} here",
                mend="install its package, name its folder in PYTHONPATH, or register the file with --script",
            ) from error
        raise


def script_module(file: str, sources: Mapping[str, str]) -> types.ModuleType:
    """A stored script as a module, and the local modules that came with it importable by their names."""
    finder = _Stored(file, sources)
    if len(sources) > 1:
        sys.meta_path.insert(0, finder)
    spec = ModuleSpec(finder.main, finder, origin=file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[finder.main] = module
    try:
        finder.exec_module(module)
    except BaseException:
        sys.modules.pop(finder.main, None)
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        raise
    return module


class _Stored(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports modules out of stored sources; tracebacks name their files and show their lines."""

    def __init__(self, file: str, sources: Mapping[str, str]) -> None:
        self._sources = sources
        digest = hashlib.sha256("\0".join(f"{path}\0{text}" for path, text in sorted(sources.items())).encode())
        self.main = f"rejudge_evaluator_{digest.hexdigest()[:16]}"
        # Python remembers source lines by file name, and two evaluators may well have files of one name.
        self._folder = f"{STORED_FOLDER}{digest.hexdigest()[:16]}"
        self._files = {_module_name(path): path for path in sources}
        self._files[self.main] = file

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        file = self._files.get(name)
        if file is not None:
            package = file.endswith("/__init__.py")
            spec = ModuleSpec(name, self, origin=file, is_package=package)
            return spec
        if any(known.startswith(name + ".") for known in self._files):
            return ModuleSpec(name, None, is_package=True)  # a folder without __init__.py
        return None

    def get_source(self, name: str) -> str:
        return self._sources[self._files[name]]

    def is_package(self, name: str) -> bool:
        return self._files[name].endswith("/__init__.py")

    def exec_module(self, module: types.ModuleType) -> None:
        file = self._files[module.__name__]
        module.__file__ = f"{self._folder}/{file}"
        exec(compile(self._sources[file], module.__file__, "exec", dont_inherit=True), module.__dict__)


def _module_name(path: str) -> str:
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def attribute_of(module: types.ModuleType, attribute: str, file: str) -> Evaluator:
    """The callable of that (perhaps dotted) name.

    Raises:
        UsageError: Where there is none, with the ones there are.
    """
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if callable(found):
        return found  # type: ignore[no-any-return]  # user code: any callable
    names = ", ".join(public_functions(module)) or "no public function"
    raise UsageError(f"{file} has no callable {attribute!r}; it has {names}")


def public_functions(module: types.ModuleType) -> list[str]:
    """Names of the functions that a module itself defines, in the order it does, without underscores."""
    return [
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and not name.startswith("_") and value.__module__ == module.__name__
    ]


def is_async(function: Evaluator) -> bool:
    """True where calling it gives something to await."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def check_params(module: types.ModuleType, values: dict[str, Any], reference: str) -> None:
    """Asks the module's own ``check_params``, where it has one, about rules between parameters.

    It takes the parameters by name, or as one mapping; it raises, or returns what is wrong as text or texts.

    Raises:
        UsageError: With what it said.
    """
    check = getattr(module, "check_params", None)
    if not callable(check):
        return
    try:
        problems = check(values) if _takes_one_mapping(check, values) else check(**values)
    except RejudgeError:
        raise
    except (ValueError, TypeError) as error:
        raise UsageError(f"parameters of {reference}: {error}") from error
    if problems:
        text = problems if isinstance(problems, str) else "; ".join(map(str, problems))
        raise UsageError(f"parameters of {reference}: {text}")


def _takes_one_mapping(check: Evaluator, values: Mapping[str, Any]) -> bool:
    parameters = list(inspect.signature(check).parameters.values())
    return (
        len(parameters) == 1
        and parameters[0].kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        and parameters[0].name not in values
    )


def _check_installed(spec: EvaluatorSpec) -> list[str]:
    if spec.name.startswith(RESERVED + "/"):
        return []  # always what is installed: it was fingerprinted just now
    from rejudge.scoring.fingerprint import changes, parts_now

    now = parts_now(spec)
    if now.code != spec.parts.code:
        what = "; ".join(changes(spec.parts, now, only_code=True))
        mend = "register it again to get a version of what is installed now"
        if spec.kind == "script":
            mend = "registering the same file again puts it right; do not edit stored versions"
        raise UsageError(f"the code of {spec.reference} is not what was registered: {what}", mend=mend)
    return changes(spec.parts, now)
