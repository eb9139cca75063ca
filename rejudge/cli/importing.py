"""Importing pydantic without its search through every installed package for plugins."""

from __future__ import annotations

from typing import Final

from rejudge import settings

_PLUGINS: Final = "PYDANTIC_DISABLE_PLUGINS"


def import_models() -> None:
    """Import the models; call it before anything else that brings pydantic.

    The search is off for this process alone: an agent or an evaluator that a command starts has its plugins as ever.
    """
    given = settings.is_set(_PLUGINS)
    settings.put_defaults({_PLUGINS: "true"})
    try:
        import rejudge.models  # noqa: F401  # the first model of a process decides
    finally:
        if not given:
            settings.drop(_PLUGINS)
