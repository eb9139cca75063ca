"""MCP servers of the OpenAI Agents SDK: in a replay they are not asked what the recording already says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from agents.mcp import MCPServer
from mcp import Tool

from rejudge.replay.adapters.mcp_tools import listed_tools

_MARK: Final = "_rejudge_replayable"
_Method: TypeAlias = Callable[[], Awaitable[None]]


def record_server(server: MCPServer) -> None:
    """Have a server listed from the recording in a replay, in place; a call that is not answered connects to it."""
    if getattr(server, _MARK, False):
        return
    connect: _Method = server.connect
    cleanup: _Method = server.cleanup
    list_tools, call_tool = server.list_tools, server.call_tool
    connected = False

    async def connect_if_needed() -> None:
        nonlocal connected
        if listed_tools(server.name) is None:
            await connect()
            connected = True

    async def cleanup_if_needed() -> None:
        nonlocal connected
        if connected or listed_tools(server.name) is None:
            connected = False
            await cleanup()

    async def list_recorded(*args: Any, **kwargs: Any) -> list[Tool]:
        listed = None if connected else listed_tools(server.name)
        if listed is None:
            return await list_tools(*args, **kwargs)
        return [Tool.model_validate(_wire(tool)) for tool in listed]

    async def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal connected
        if not connected and listed_tools(server.name) is not None:
            await connect()
            connected = True
        return await call_tool(*args, **kwargs)

    methods = {"connect": connect_if_needed, "cleanup": cleanup_if_needed, "list_tools": list_recorded}
    for name, method in {**methods, "call_tool": call, _MARK: True}.items():
        setattr(server, name, method)


def _wire(tool: dict[str, Any]) -> dict[str, Any]:
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    return {"name": tool["name"], "description": tool.get("description"), "inputSchema": schema}
