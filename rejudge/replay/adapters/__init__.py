"""Adapters: frameworks whose calls go through a replay at their own public seams.

A file for each, which imports the framework and says in `CAPABILITIES` what it intercepts. `rejudge.adapters` is
where users find them.
"""

from rejudge.replay.adapters.table import (
    ANTHROPIC,
    LANGCHAIN,
    OPENAI,
    OPENAI_AGENTS,
    PYDANTIC_AI,
    Capabilities,
    details,
    overview,
)

ADAPTERS: tuple[Capabilities, ...] = (OPENAI, ANTHROPIC, PYDANTIC_AI, OPENAI_AGENTS, LANGCHAIN)
"""Every adapter, whether its framework is installed or not."""

__all__ = ["ADAPTERS", "Capabilities", "details", "overview"]
