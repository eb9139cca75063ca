"""Scripts with inline dependencies (PEP 723): resolved once per version, each set in an environment of its own."""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import rejudge
from rejudge.errors import UsageError

WORKER_NEEDS: Final = ("orjson>=3.10", "pydantic>=2.10", "zstandard>=0.22")
"""What rejudge's own side of an evaluator's process imports."""

_MINORS: Final = range(11, 60)
_LOWEST_PYTHON: Final = f">=3.{_MINORS[0]}"
_OWN: Final = "rejudge"
_TIME_LIMIT: Final = 900
# The expression of the standard itself.
_BLOCK: Final = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


@dataclass(frozen=True, slots=True)
class Declared:
    """What a script asks for."""

    dependencies: tuple[str, ...]
    requires_python: str | None


@dataclass(frozen=True, slots=True)
class Home:
    """An environment that an evaluator can run in."""

    interpreter: str
    root: str
    """Folder that rejudge alone is imported from."""


def declared_in(source: str, file: str) -> Declared | None:
    """The inline dependencies of a script; None where it has no such block.

    Raises:
        UsageError: For a block that cannot be read.
    """
    blocks = [found for found in _BLOCK.finditer(source) if found["type"] == "script"]
    if not blocks:
        return None
    line = source.count("\n", 0, blocks[0].start()) + 1
    if len(blocks) > 1:
        raise UsageError(f"{file}:{line}: there are several '# /// script' blocks; write one")
    lines = [text[2:] if text.startswith("# ") else text[1:] for text in blocks[0]["content"].splitlines()]
    try:
        table = tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}:{line}: the '# /// script' block is no TOML: {error}") from error
    dependencies = table.get("dependencies", [])
    python = table.get("requires-python")
    _check(dependencies, python, f"{file}:{line}")
    return Declared(tuple(dependencies), python)


def _check(dependencies: Any, python: Any, where: str) -> None:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        for requirement in dependencies:
            Requirement(requirement)
        bounds = SpecifierSet(python) if python is not None else None
    except (InvalidRequirement, InvalidSpecifier, TypeError) as error:
        raise UsageError(f"{where}: the '# /// script' block: {error}") from error
    if bounds is not None and not any(
        bounds.contains(f"3.{minor}.{patch}") for minor in _MINORS for patch in (0, 99)
    ):
        raise UsageError(
            f"{where}: the script wants Python {python}, and evaluators run on 3.{_MINORS[0]} or newer",
            mend="widen its requires-python",
        )


def resolve(declared: Declared, *, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Every distribution the script needs, pinned, with what the worker itself needs.

    Raises:
        UsageError: Where uv is not there, or finds no versions that go together.
    """
    # rejudge itself is given to every evaluator: it is not taken from an index.
    asked = [text for text in declared.dependencies if _name(text) != _OWN]
    command = [_uv(environment), "pip", "compile", "-", "--no-header", "--no-annotate", "--quiet"]
    output = _run(
        [*command, "--python", _python(declared.requires_python)],
        environment,
        what="resolving the script's dependencies",
        text="\n".join([*asked, *WORKER_NEEDS]),
    )
    lines = [line.strip() for line in output.splitlines()]
    return tuple(line for line in lines if line and not line.startswith(("#", "-")))


def environment_for(
    dependencies: Sequence[str], requires_python: str | None, *, folder: Path, environment: Mapping[str, str]
) -> Home:
    """The environment that holds exactly these distributions; made once, then found again.

    Args:
        dependencies: Pinned requirements, from `resolve`.
        requires_python: The script's own bounds.
        folder: Where environments are kept.
        environment: Variables for uv.

    Raises:
        UsageError: Where uv is not there or cannot make it.
    """
    python = _python(requires_python)
    digest = hashlib.sha256(json.dumps([sorted(dependencies), python]).encode()).hexdigest()[:24]
    place = folder / digest
    with _locked(folder, digest):
        if not (place / "ready").is_file():
            _make(place, dependencies, python, environment)
        _link(place / "root")
    return Home(str(place / "bin" / "python"), str(place / "root"))


def _make(place: Path, dependencies: Sequence[str], python: str, environment: Mapping[str, str]) -> None:
    uv = _uv(environment)
    shutil.rmtree(place, ignore_errors=True)
    _run([uv, "venv", "--quiet", "--python", python, str(place)], environment, what="making an environment")
    install = [uv, "pip", "install", "--quiet", "--no-deps", "--python", str(place / "bin" / "python"), "-r", "-"]
    _run(install, environment, what="installing the script's dependencies", text="\n".join(dependencies))
    (place / "ready").write_text("\n".join(dependencies))


def _link(root: Path) -> None:
    """A folder that holds rejudge and nothing else of what surrounds it here."""
    root.mkdir(exist_ok=True)
    link, target = root / _OWN, Path(rejudge.__file__).resolve().parent
    if not link.is_symlink() or link.readlink() != target:
        link.unlink(missing_ok=True)
        link.symlink_to(target, target_is_directory=True)


@contextmanager
def _locked(folder: Path, digest: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{digest}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _python(requires: str | None) -> str:
    """What uv is to look for: our own interpreter where the script takes it."""
    from packaging.specifiers import SpecifierSet

    version = ".".join(map(str, sys.version_info[:3]))
    if requires is None or SpecifierSet(requires).contains(version, prereleases=True):
        return sys.executable
    return ",".join(str(SpecifierSet(f"{requires},{_LOWEST_PYTHON}")).split(","))


def _name(requirement: str) -> str:
    from packaging.requirements import Requirement

    return Requirement(requirement).name.lower().replace("_", "-")


def _uv(environment: Mapping[str, str]) -> str:
    beside = Path(sys.executable).parent / "uv"
    found = shutil.which("uv", path=environment.get("PATH")) or (str(beside) if beside.is_file() else None)
    if found is None:
        raise UsageError(
            "a script with inline dependencies (# /// script) needs uv, which is not on PATH",
            mend="pip install uv, or register the evaluator from an installed package with --package",
        )
    return found


def _run(command: list[str], environment: Mapping[str, str], *, what: str, text: str = "") -> str:
    try:
        done = subprocess.run(
            command,
            input=text,
            # uv brings certificates of its own; behind a company's proxy only the system's are right.
            env={"UV_SYSTEM_CERTS": "1", **environment},
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{what} failed: {error}") from error
    if done.returncode != 0:
        raise UsageError(f"{what} failed: {done.stderr.strip()[-2000:]}", mend="mend the '# /// script' block")
    return done.stdout
