"""From a provider's name to the provider: by short name or dotted path, once per process and configuration."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from rejudge.errors import UsageError
from rejudge.evaluators.providers.provider import Provider
from rejudge.models import digest_of

SHORT_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "rejudge": "rejudge.evaluators.providers.with_rapidfuzz:RapidfuzzProvider",
        "deepeval": "rejudge.evaluators.providers.with_deepeval:DeepevalProvider",
        "opik": "rejudge.evaluators.providers.with_opik:OpikProvider",
        "jev": "rejudge.evaluators.providers.with_jev:JevProvider",
    }
)
"""The providers that come with rejudge; all but the first need an optional extra of the same name."""

_lock: Final = threading.Lock()
_made: Final[dict[str, Provider]] = {}


def resolve_provider(name: str = "rejudge", options: Mapping[str, Any] | None = None) -> Provider:
    """The provider of a name, made once for each whole configuration.

    Args:
        name: A short name, or ``package.module:Class`` of a `Provider` subclass of your own.
        options: Keyword arguments of the class.

    Raises:
        UsageError: Where it cannot be imported, is no provider, misses an extra, or refuses its options.
    """
    given = dict(options or {})
    try:
        key = digest_of([name, given])
    except ValueError as error:
        raise UsageError(f"options of provider {name!r} are no JSON: {error}") from error
    with _lock:
        if key not in _made:
            _made[key] = _make(name, given)
        return _made[key]


def _make(name: str, options: dict[str, Any]) -> Provider:
    kind = _class(name)
    try:
        return kind(**options)
    except (TypeError, ValueError) as error:
        raise UsageError(f"provider {name!r} does not take these options: {error}") from error


def _class(name: str) -> type[Provider]:
    path = SHORT_NAMES.get(name, name)
    module_name, separator, attribute = path.rpartition(":") if ":" in path else path.rpartition(".")
    if not separator or not module_name or not attribute:
        raise UsageError(f"there is no provider {name!r}", mend=_mend())
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except ImportError as error:
        raise UsageError(f"provider {name!r} cannot be imported: {error}", mend=_mend()) from error
    except AttributeError as error:
        raise UsageError(f"provider {name!r} is not there: {error}", mend=_mend()) from error
    if not isinstance(found, type) or not issubclass(found, Provider):
        raise UsageError(f"{name!r} is no subclass of rejudge.evaluators.providers.Provider", mend=_mend())
    return found


def _mend() -> str:
    return f"use one of {', '.join(SHORT_NAMES)}, or 'package.module:Class' of your own Provider"
