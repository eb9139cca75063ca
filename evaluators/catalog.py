"""The built-in evaluators by name: where each lives, what it says, and whether it is quick. Imports nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One built-in evaluator."""

    entrypoint: str
    """``module:attribute``; the module may hold ``check_params``, ``PROVIDER`` and ``CONNECTION_SCHEMA`` too."""
    description: str
    """One line for lists."""
    mode: Literal["fast", "slow"] = "fast"
    """``slow`` where it may call a model."""


CATALOG: Final[Mapping[str, BuiltIn]] = MappingProxyType(
    {
        "rejudge/cost": BuiltIn("rejudge.evaluators.cost:evaluate", "What the session cost, in US dollars"),
        "rejudge/latency": BuiltIn("rejudge.evaluators.latency:evaluate", "How long the session took, in seconds"),
        "rejudge/tool-call-patterns": BuiltIn(
            "rejudge.evaluators.tool_call_patterns:evaluate", "How often tools are called again"
        ),
    }
)

BUILT_IN: Final[Mapping[str, str]] = MappingProxyType({name: entry.entrypoint for name, entry in CATALOG.items()})
"""Name → ``module:attribute`` of every built-in evaluator."""
