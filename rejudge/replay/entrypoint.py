"""From an agent's entrypoint to the function that is called."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from rejudge.errors import UsageError
from rejudge.models.canonical import JsonValue

FRESH_SECONDS: Final = 2.0
"""A source file may still change within the second that its bytecode is known by."""


def load_entrypoint(entrypoint: str, working_folder: str | Path) -> Callable[..., Any]:
    """The function that ``path.py:function`` or ``package.module:function`` names.

    The file's folder (of a package: the folder the package is in) and the working folder are put on `sys.path`:
    the agent's own imports work as when it is run by hand.

    Raises:
        UsageError: Where the file, the module or the function is not there.
        Exception: Whatever the module raises while it is imported.
    """
    where, _, name = entrypoint.rpartition(":")
    folder = Path(working_folder or ".")
    _cache_no_fresh_sources({folder, (folder / where).parent})
    module = _load_file(folder / where) if where.endswith(".py") else _load_module(where, folder)
    found: Any = module
    for step in name.split("."):
        found = getattr(found, step, None)
    if not callable(found):
        raise UsageError(f"{where!r} has no function {name!r}", mend=f"it has: {_functions(module)}")
    function: Callable[..., Any] = found
    return function


def _cache_no_fresh_sources(folders: set[Path]) -> None:
    """Leaves no bytecode of files that were written just now.

    Python knows stale bytecode by the source's size and the second it was written in: an agent that is edited twice
    in one second would be run as it was before.
    """
    now = time.time()
    for folder in folders:
        for path in folder.glob("*.py"):
            with suppress(OSError):
                if now - path.stat().st_mtime < FRESH_SECONDS:
                    sys.dont_write_bytecode = True
                    return


def _load_module(name: str, folder: Path) -> Any:
    _put_first(folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            mend = f"it is looked for in {folder} and among the installed packages"
            raise UsageError(f"no module {name!r}", mend=mend) from error
        raise


def _load_file(path: Path) -> Any:
    path = path.absolute()
    if not path.is_file():
        raise UsageError(f"no file {str(path)!r}", mend="write the path as seen from the working folder")
    root, parts = path.parent, [path.stem]
    while (root / "__init__.py").is_file():  # a module of a package: relative imports have to work
        parts.insert(0, root.name)
        root = root.parent
    _put_first(root)
    name = ".".join(parts)
    if len(parts) > 1:
        return importlib.import_module(name)
    return _load_script(path, name)


def _load_script(path: Path, name: str) -> Any:
    taken = name in sys.modules or name in sys.stdlib_module_names or not name.isidentifier()
    spec = importlib.util.spec_from_file_location(f"agent_{abs(hash(name))}" if taken else name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _put_first(folder: Path) -> None:
    text = str(folder.absolute())
    if text not in sys.path[:1]:
        sys.path.insert(0, text)


def _functions(module: Any) -> str:
    names = [name for name, value in vars(module).items() if inspect.isfunction(value) and not name.startswith("_")]
    return ", ".join(names) or "none"


def call_agent(function: Callable[..., Any], inputs: JsonValue, context: object) -> Any:
    """What the agent returns; a coroutine is run to its end.

    Args:
        context: Given as the second argument, where the function takes one.
    """
    result = function(inputs, context) if _takes_context(function) else function(inputs)
    return asyncio.run(_awaited(result)) if inspect.isawaitable(result) else result


async def _awaited(result: Any) -> Any:
    return await result


def _takes_context(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    ]
    spread = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    second = positional[1] if len(positional) > 1 else None
    return spread or (second is not None and (second.default is inspect.Parameter.empty or second.name == "context"))
