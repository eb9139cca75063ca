"""Adapters that put a framework's calls on record, and answer them from the tape in a replay.

    client = rejudge.adapters.openai.replayable(OpenAI())

Each module needs its framework; this package needs none.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejudge.adapters import anthropic, langchain, openai, openai_agents, pydantic_ai

__all__ = ["anthropic", "langchain", "openai", "openai_agents", "pydantic_ai"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")
