"""What can change an evaluator's answer, as parts and as one digest."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path, PurePosixPath
from typing import Any, Final

from rejudge.models.canonical import digest_of
from rejudge.scoring.distributions import versions_of
from rejudge.scoring.sources import imported_names, normalised_digest, parse
from rejudge.scoring.version import CONTRACT, EvaluatorSpec, FingerprintParts

_OWN: Final = "rejudge"
_OWN_EVALUATORS: Final = "rejudge.evaluators"
_NONE: Final = object()


@dataclass
class Walk:
    """What an entrypoint reaches through its imports."""

    code: dict[str, str] = field(default_factory=dict)
    """Digest of normalised source, by file beside the script (``""`` is the script) or by module."""
    sources: dict[str, str] = field(default_factory=dict)
    """Whole text, by path relative to the script's folder."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of the distributions that are imported."""


def walk_script(file: str, beside: Mapping[str, str] | Path) -> Walk:
    """Follows a script's imports.

    Args:
        file: The script's name.
        beside: Its folder, or what was stored of it.

    Raises:
        SyntaxError: In the script or in a module beside it, with file and line.
        OSError: Where the script cannot be read.
    """
    walk = Walk()
    source = _beside(beside, file)
    if source is None:
        raise FileNotFoundError(f"there is no file {file}")
    walk.sources[file] = source
    digest, names = _read(source, file, "")
    walk.code[""] = digest
    _follow(walk, names, beside=beside, own="")
    return walk


def walk_module(module: str) -> Walk:
    """Follows an installed module's imports.

    Raises:
        SyntaxError: In it, or in a module of its own package.
        LookupError: Where there is no such module.
    """
    walk = Walk()
    found = _locate(module)
    if found is None:
        raise LookupError(module)
    parts = module.split(".")
    beginnings = [".".join(parts[:length]) for length in range(1, len(parts) + 1)]
    _follow(walk, beginnings, beside={}, own=parts[0])
    return walk


def _follow(walk: Walk, names: list[str], *, beside: Mapping[str, str] | Path, own: str) -> None:
    waiting = list(reversed(names))
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or (top == _OWN and not _counts(name, own)):
            continue
        if _is_beside(beside, top):
            waiting.extend(reversed(_take_beside(walk, name, beside)))
        elif top != own and (versions := versions_of(name)):
            walk.versions.update(versions)
        else:
            waiting.extend(reversed(_take_module(walk, name)))


def _counts(name: str, own: str) -> bool:
    # What evaluators use of rejudge is the contract, and has a version of its own; the built-in ones are code.
    return own == _OWN and (name == _OWN_EVALUATORS or name.startswith(_OWN_EVALUATORS + "."))


def _is_beside(beside: Mapping[str, str] | Path, top: str) -> bool:
    if isinstance(beside, Path):
        return (beside / f"{top}.py").is_file() or _is_package(beside / top)
    return any(path == f"{top}.py" or path.startswith(f"{top}/") for path in beside)


def _is_package(folder: Path) -> bool:
    return folder.is_dir() and ((folder / "__init__.py").is_file() or any(folder.glob("*.py")))


def _beside(beside: Mapping[str, str] | Path, path: str) -> str | None:
    if not isinstance(beside, Path):
        return beside.get(path)
    file = beside / path
    return importlib.util.decode_source(file.read_bytes()) if file.is_file() else None


def _take_beside(walk: Walk, name: str, beside: Mapping[str, str] | Path) -> list[str]:
    base = name.replace(".", "/")
    for path, package in ((f"{base}/__init__.py", name), (f"{base}.py", name.rpartition(".")[0])):
        source = _beside(beside, path)
        if source is not None:
            walk.sources[path] = source
            walk.code[path], names = _read(source, path, package)
            return names
    return []


def _take_module(walk: Walk, name: str) -> list[str]:
    spec = _locate(name)
    if spec is None or spec.origin is None or spec.origin in ("built-in", "frozen"):
        return []
    path = Path(spec.origin)
    if not path.is_file():
        return []
    status = path.stat()
    package = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
    walk.code[name], names = _read_file(path, package, status.st_mtime_ns, status.st_size)
    return names


@lru_cache(maxsize=4096)
def _read_file(path: Path, package: str, modified: int, size: int) -> tuple[str, list[str]]:
    content = path.read_bytes()
    if path.suffix != ".py":
        return sha256(content).hexdigest(), []
    return _read(importlib.util.decode_source(content), str(path), package)


def _read(source: str, file: str, package: str) -> tuple[str, list[str]]:
    tree = parse(source, file)
    return normalised_digest(tree, source), imported_names(tree, package)


def _locate(name: str) -> ModuleSpec | None:
    """Where a module is, without importing anything."""
    top, *rest = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return None
    dotted = top
    for part in rest:
        if spec is None or spec.submodule_search_locations is None:
            return None
        dotted = f"{dotted}.{part}"
        spec = PathFinder.find_spec(dotted, list(spec.submodule_search_locations))
    return spec


def parts_of(
    walk: Walk, *, attribute: str, schema: Mapping[str, Any], resolved: tuple[str, ...] | None
) -> FingerprintParts:
    """The parts of a fingerprint.

    Args:
        walk: What the entrypoint reaches.
        attribute: The callable's name.
        schema: JSON Schema of its parameters.
        resolved: Requirements of a script's own environment, ``name==version``; they take the place of what is
            installed here.
    """
    versions = walk.versions if resolved is None else dict(_split(one) for one in resolved)
    return FingerprintParts(
        contract=CONTRACT,
        attribute=attribute,
        code=dict(sorted(walk.code.items())),
        parameters=digest_of(schema),
        dependencies=dict(sorted(versions.items())),
    )


def _split(requirement: str) -> tuple[str, str]:
    name, _, version = requirement.partition("==")
    return name.strip(), version.strip()


def parts_now(spec: EvaluatorSpec) -> FingerprintParts:
    """The parts of a registered version as they are in this process.

    Raises:
        SyntaxError: Where its code cannot be read any more.
    """
    walk = walk_script(spec.file, spec.sources) if spec.kind == "script" else walk_module(spec.file)
    return parts_of(walk, attribute=spec.attribute, schema=spec.parameter_schema, resolved=spec.dependencies)


def changes(old: FingerprintParts, new: FingerprintParts, *, only_code: bool = False) -> list[str]:
    """What is different, one line each; empty where nothing is."""
    lines = [f"code: {line}" for line in _changed(old.code, new.code, shown=_file_change)]
    if only_code:
        return lines
    lines += [f"dependency: {line}" for line in _changed(old.dependencies, new.dependencies, shown=_version_change)]
    if old.parameters != new.parameters:
        lines.append("parameters: the schema changed")
    if old.attribute != new.attribute:
        lines.append(f"entrypoint: {old.attribute} became {new.attribute}")
    if old.contract != new.contract:
        lines.append(f"contract: {old.contract} became {new.contract}")
    return lines


def changed_parameters(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What is different between two parameter schemas, one line each."""
    before, after = old.get("properties", {}), new.get("properties", {})
    lines = [f"parameters: {line}" for line in _changed(before, after, shown=_parameter_change)]
    return lines or (["parameters: the schema changed"] if old != new else [])


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], *, shown: Any) -> list[str]:
    return [
        shown(name, old.get(name), new.get(name)) for name in sorted({*old, *new}) if old.get(name) != new.get(name)
    ]


def _file_change(name: str, old: str | None, new: str | None) -> str:
    verb = "is new" if old is None else "is gone" if new is None else "changed"
    return f"{PurePosixPath(name) if name else 'the script'} {verb}"


def _version_change(name: str, old: str | None, new: str | None) -> str:
    if old is None or new is None:
        return f"{name} {new} is new" if old is None else f"{name} {old} is gone"
    return f"{name} {old} became {new}"


def _parameter_change(name: str, old: Any, new: Any) -> str:
    if old is None or new is None:
        return f"{name} is new" if old is None else f"{name} is gone"
    before, after = dict(old), dict(new)
    was, now = before.pop("default", _NONE), after.pop("default", _NONE)
    if before != after or _NONE in (was, now):
        return f"{name} changed"
    return f"{name} {_brief(was)} became {_brief(now)}"


def _brief(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
