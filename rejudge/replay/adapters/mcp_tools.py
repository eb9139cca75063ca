"""Tools that an MCP server listed: marked in what is recorded, so that a replay need not ask the server again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rejudge.models.canonical import JsonValue
from rejudge.replay.active import current_replay

MARK: Final = "mcp_server"
"""In a recorded definition: the server's name, the tool's own name on it, and what else its adapter wants back."""


def marked(definition: Mapping[str, JsonValue], server: str, tool: str) -> dict[str, JsonValue]:
    """The definition of a tool with where it came from."""
    return {**definition, MARK: {"name": server, "tool": tool}}


def listed_tools(server: str) -> list[dict[str, Any]] | None:
    """In a replay, what a server listed when the baseline was recorded; None: ask it."""
    replay = current_replay()
    if replay is None:
        return None
    found: dict[str, dict[str, Any]] = {}
    listed = False
    for definition in replay.offered_tools():
        origin = definition.get(MARK)
        if not isinstance(origin, dict):
            continue
        listed = listed or server in (origin.get("beside") or ())
        if origin.get("name") == server:
            name = str(origin.get("tool"))
            found.setdefault(name, {**definition, "name": name})
    return list(found.values()) if found or listed else None
