"""rejudge: replay recorded agent runs and judge every change."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from rejudge import adapters
    from rejudge.api import Store, open
    from rejudge.errors import EvaluationError, MissingInput, NotSupported
    from rejudge.models.evaluation import EvaluationResult
    from rejudge.models.session import Node, Session, SessionView
    from rejudge.replay.record import record
    from rejudge.replay.tool import tool

# Imported on first use: `rejudge --help` must not wait for pydantic, SQLAlchemy or Prefect.
_HOMES = {
    "EvaluationError": "rejudge.errors",
    "EvaluationResult": "rejudge.models.evaluation",
    "MissingInput": "rejudge.errors",
    "Node": "rejudge.models.session",
    "NotSupported": "rejudge.errors",
    "Session": "rejudge.models.session",
    "SessionView": "rejudge.models.session",
    "Store": "rejudge.api",
    "open": "rejudge.api",
    "record": "rejudge.replay.record",
    "tool": "rejudge.replay.tool",
}

__all__ = [
    "EvaluationError",
    "EvaluationResult",
    "MissingInput",
    "Node",
    "NotSupported",
    "Session",
    "SessionView",
    "Store",
    "__version__",
    "adapters",
    "open",
    "record",
    "tool",
]


def __getattr__(name: str) -> Any:
    if name == "adapters":
        return importlib.import_module("rejudge.adapters")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(home), name)
