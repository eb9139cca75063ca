"""Agent versions: how an agent is run, and by which source."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from rejudge.errors import UsageError
from rejudge.models.agent import AgentSpec, Limits
from rejudge.models.canonical import digest_of
from rejudge.replay.names import require_name
from rejudge.replay.source import source_digest, source_files

_SECRET: Final = re.compile(r"(?i)(^|_)(key|token|secret|password|passwd|credentials?)($|_)")


def agent_spec(
    *,
    entrypoint: str | None = None,
    command: str | None = None,
    folder: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    limits: Limits | Mapping[str, Any] | None = None,
) -> AgentSpec:
    """One way to run an agent, with the digest of its source as it is now.

    Args:
        entrypoint: ``path.py:function`` or ``package.module:function``.
        command: A command line instead, for any language.
        folder: Where it runs, and where relative paths are read from; the current one by default.
        environment: Variables on top of the inherited ones. They are stored as they are.

    Raises:
        UsageError: Where not exactly one of the two is given, the file is not there, or a variable looks like a
            secret.
    """
    folder = Path(folder if folder is not None else ".").absolute()
    if (entrypoint is None) == (command is None):
        raise UsageError(
            "an agent is either a function or a command", mend="give one of the two: an entrypoint, or a command"
        )
    if not folder.is_dir():
        raise UsageError(f"no folder {str(folder)!r}", mend="create it, or name another working folder")
    secret = next((name for name in environment or {} if _SECRET.search(name)), None)
    if secret is not None:
        mend = "set it where rejudge runs: an agent inherits the environment"
        raise UsageError(f"{secret!r} looks like a secret, and an agent's environment is stored", mend=mend)
    starts = _named_files(command or "", folder) if entrypoint is None else [_entry_file(entrypoint, folder)]
    files = source_files(starts, roots=(folder, *(start.parent for start in starts)))
    return AgentSpec(
        kind="function" if entrypoint is not None else "command",
        entrypoint=(entrypoint or command or "").strip(),
        working_folder=str(folder),
        environment=dict(environment or {}),
        source_digest=source_digest(files, folder),
        sources=tuple(_shown(path, folder) for path in files),
        limits=_limits(limits),
    )


def _limits(given: Limits | Mapping[str, Any] | None) -> Limits:
    try:
        return given if isinstance(given, Limits) else Limits.model_validate(dict(given or {}))
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"limit {'.'.join(map(str, first['loc']))!r}: {first['msg']}") from error


def agent_digest(spec: AgentSpec) -> str:
    """Hex digest under which the same agent registered twice is one version: limits are not part of it."""
    return digest_of(spec.model_dump(mode="json", exclude={"limits", "sources"}))


def require_entrypoint(spec: AgentSpec) -> None:
    """Refuse an agent whose function is not in its file; what its file does when it runs is not known here.

    Raises:
        UsageError: With the functions that the file has.
    """
    if spec.kind == "function":
        where, _, function = spec.entrypoint.rpartition(":")
        require_name(_entry_file(spec.entrypoint, Path(spec.working_folder)), function, shown=where)


def current_source_digest(spec: AgentSpec) -> str:
    """The digest that the agent's source has now; another one than the spec's: it was changed since."""
    again = {"entrypoint": spec.entrypoint} if spec.kind == "function" else {"command": spec.entrypoint}
    return agent_spec(**again, folder=spec.working_folder).source_digest  # type: ignore[arg-type]


def _entry_file(entrypoint: str, folder: Path) -> Path:
    where, colon, function = entrypoint.strip().rpartition(":")
    if not colon or not function:
        raise UsageError(f"entrypoint {entrypoint!r} names no function", mend="write FILE.py:FUNCTION")
    if where.endswith(".py"):
        path = folder / where
        if not path.is_file():
            raise UsageError(f"no file {str(path)!r}", mend="write the path as seen from the working folder")
        return path.absolute()
    found = _module_file(where, folder)
    if found is None:
        raise UsageError(
            f"no module {where!r} in {str(folder)!r}", mend="run it from the project's folder, or install it"
        )
    return found


def _module_file(name: str, folder: Path) -> Path | None:
    import importlib.machinery

    path: list[str] | None = None
    for step in name.split("."):
        where = [str(folder)] if path is None else path
        spec = importlib.machinery.PathFinder.find_spec(step, where) or (
            importlib.machinery.PathFinder.find_spec(step) if path is None else None
        )
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
        origin = spec.origin
    return Path(origin) if origin else None


def _named_files(command: str, folder: Path) -> list[Path]:
    """The files that a command line names: its program is what they say."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be read: {error}") from error
    if not words:
        raise UsageError("the command is empty")
    paths = [(folder / word).absolute() for word in words]
    named = [path for path in paths if path.is_file() and not _is_interpreter(path)]
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else None
    found = _module_file(module, folder) if module else None
    return [*named, *([found] if found is not None and folder in found.parents else [])]


def _is_interpreter(path: Path) -> bool:
    return path.parent.name in {"bin", "Scripts"}


def _shown(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if folder in path.parents else str(path)
