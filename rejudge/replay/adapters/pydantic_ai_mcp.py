"""MCP servers of a pydantic-ai agent: in a replay they are not asked what the recording already says."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from rejudge.models.canonical import JsonValue
from rejudge.replay.adapters.mcp_tools import listed_tools, marked

_ORIGIN: Final = "rejudge.mcp"


def with_recorded_servers(toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
    """The toolset with each of its MCP servers listed from the recording in a replay."""
    mcp = sys.modules.get("pydantic_ai.mcp")  # needs packages that not everybody has
    if mcp is None:
        return toolset
    return toolset.visit_and_replace(lambda leaf: RecordedServer(leaf) if isinstance(leaf, mcp.MCPToolset) else leaf)


def definition_of(tool: ToolDefinition) -> dict[str, JsonValue]:
    """A tool's definition as it is recorded."""
    definition = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters_json_schema,
    }
    origin = (tool.metadata or {}).get(_ORIGIN)
    return marked(definition, *origin) if origin else definition


@dataclass
class RecordedServer(WrapperToolset[Any]):
    """An MCP server whose list of tools is on record. A call that the tape does not answer connects to it."""

    @property
    def id(self) -> str | None:
        """The server's own."""
        return self.wrapped.id

    @property
    def _listed(self) -> list[dict[str, Any]] | None:
        # The server's instructions are recorded in requests only, and cannot be told apart there.
        return None if getattr(self.wrapped, "include_instructions", False) else listed_tools(self._name)

    @property
    def _name(self) -> str:
        return self.wrapped.id or self.wrapped.label

    async def __aenter__(self) -> Self:
        if self._listed is None:
            await self.wrapped.__aenter__()
        return self

    async def __aexit__(self, *args: Any) -> bool | None:
        return await self.wrapped.__aexit__(*args) if self._listed is None else None

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The server's tools."""
        listed = self._listed
        if listed is None:
            tools = await self.wrapped.get_tools(ctx)
            return {name: replace(tool, tool_def=self._marked(tool.tool_def)) for name, tool in tools.items()}
        made: Any = self.wrapped
        return {
            tool["name"]: made.tool_for_tool_def(
                self._marked(
                    ToolDefinition(
                        name=tool["name"],
                        description=tool.get("description"),
                        parameters_json_schema=tool.get("parameters") or {"type": "object", "properties": {}},
                    )
                ),
                ctx=ctx,
            )
            for tool in listed
        }

    def _marked(self, tool: ToolDefinition) -> ToolDefinition:
        return replace(tool, metadata={**(tool.metadata or {}), _ORIGIN: (self._name, tool.name)})
