"""Which installed distribution a module comes from, and whether its version says what its code is."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import metadata
from typing import Any


def versions_of(module: str) -> dict[str, str]:
    """Versions by distribution name of what provides a module; empty where its code stands for itself.

    That is so where it belongs to no distribution, or to one installed from a local folder: there the code changes
    and the version does not.
    """
    found = _providers(module)
    return {name: distribution.version for name, distribution in found.items() if not _is_local(distribution)}


def is_versioned(module: str) -> bool:
    """True where a version tells what the module's code is."""
    return bool(versions_of(module))


@lru_cache(maxsize=1024)
def _providers(module: str) -> dict[str, metadata.Distribution]:
    top = module.partition(".")[0]
    try:
        # The common case, without reading what every installed distribution holds.
        same_name = metadata.distribution(top)
        if top in _tops(same_name):
            return {_normal(same_name.metadata["Name"]): same_name}
    except metadata.PackageNotFoundError:
        pass
    names = sorted(set(_all().get(top, ())))
    found = {_normal(name): metadata.distribution(name) for name in names}
    if len(found) < 2:
        return found
    path = module.replace(".", "/")
    holding = {name: one for name, one in found.items() if _holds(one, path)}
    return holding or found


def _tops(distribution: metadata.Distribution) -> set[str]:
    listed = distribution.read_text("top_level.txt")
    if listed:
        return set(listed.split())
    return {file.parts[0].removesuffix(".py") for file in distribution.files or () if file.parts}


def _holds(distribution: metadata.Distribution, path: str) -> bool:
    return any(str(file).startswith((f"{path}/", f"{path}.")) for file in distribution.files or ())


@lru_cache(maxsize=1)
def _all() -> Any:
    return metadata.packages_distributions()


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _is_local(distribution: metadata.Distribution) -> bool:
    text = distribution.read_text("direct_url.json")
    if not text:
        return False
    try:
        return "dir_info" in json.loads(text)
    except ValueError:
        return False
