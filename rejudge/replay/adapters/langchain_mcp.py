"""MCP servers of LangChain agents: in a replay they are not asked what the recording already says."""

from __future__ import annotations

import sys
from asyncio import gather
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from copy import copy
from functools import lru_cache, wraps
from types import new_class
from typing import Any, Final, Protocol, TypeVar

from langchain_core.runnables import RunnableBinding
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from rejudge.models.canonical import JsonValue
from rejudge.replay.adapters.langchain_tools import recorded_tool
from rejudge.replay.adapters.mcp_tools import MARK, listed_tools
from rejudge.replay.values import jsonable

_ORIGIN: Final = "rejudge.mcp"
"""In a tool's metadata: the mark that its definition gets."""

_OPTIONS: Final = ("callbacks", "tool_interceptors", "tool_name_prefix", "handle_tool_errors")


class ToolServers(Protocol):
    """A ``MultiServerMCPClient``, of a package that not everybody has."""

    async def get_tools(self, *, server_name: str | None = None) -> list[BaseTool]:
        """The tools of one server, or of all."""


Client = TypeVar("Client", bound=ToolServers)


def is_client(target: object) -> bool:
    """Whether it is a ``MultiServerMCPClient``."""
    module = sys.modules.get("langchain_mcp_adapters.client")  # whoever has one has loaded it
    return module is not None and isinstance(target, module.MultiServerMCPClient)


def recorded_client(client: Client) -> Client:
    """The client, of a class that differs from its own in where a replay has the tools from."""
    kind = type(client)
    if getattr(kind, "_rejudge_recorded", False):
        return client
    copied = copy(client)
    copied.__class__ = _recorded_class(kind)
    return copied


@lru_cache(maxsize=256)
def _recorded_class(kind: Any) -> Any:
    marks = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    body = {**marks, "get_tools": _get_tools(kind.get_tools), "_rejudge_recorded": True}
    return new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(body))


def _get_tools(original: Callable[..., Awaitable[list[BaseTool]]]) -> Callable[..., Any]:
    @wraps(original)
    async def recorded(self: Any, *, server_name: str | None = None) -> list[BaseTool]:
        if server_name is not None and server_name not in self.connections:
            return await original(self, server_name=server_name)  # which says so in its own words
        servers = list(self.connections) if server_name is None else [server_name]

        async def tools_of(server: str) -> list[BaseTool]:
            listed = listed_tools(server)
            if listed is not None:
                return [_made(self, server, definition) for definition in listed]
            beside = [other for other in servers if other != server]
            tools = await original(self, server_name=server)
            return [_with_origin(tool, _mark(self, server, tool, beside)) for tool in tools]

        return [recorded_tool(tool) for tools in await gather(*map(tools_of, servers)) for tool in tools]

    return recorded


def _mark(client: Any, server: str, tool: BaseTool, beside: list[str]) -> dict[str, JsonValue]:
    """Where a tool came from, with what its definition does not say.

    Args:
        beside: Servers listed in the same breath: those whose tools no model was offered need not be asked either.
    """
    prefix = f"{server}_" if getattr(client, "tool_name_prefix", False) else ""
    more = {"metadata": jsonable(tool.metadata), "beside": list(beside)}
    return {
        "name": server,
        "tool": tool.name.removeprefix(prefix),
        **{name: value for name, value in more.items() if value},
    }


def _with_origin(tool: BaseTool, mark: dict[str, JsonValue]) -> BaseTool:
    return tool.model_copy(update={"metadata": {**(tool.metadata or {}), _ORIGIN: mark}})


def _made(client: Any, server: str, definition: dict[str, Any]) -> BaseTool:
    """The tool of a recorded definition. A call of it that the tape does not answer connects to the server."""
    from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool
    from mcp.types import Tool

    shown = convert_to_openai_tool(definition)["function"]
    schema = shown.get("parameters") or {"type": "object", "properties": {}}
    wire = {"name": definition["name"], "description": shown.get("description"), "inputSchema": schema}
    tool: BaseTool = convert_mcp_tool_to_langchain_tool(
        None,
        Tool.model_validate(wire),
        connection=client.connections[server],
        server_name=server,
        **{name: getattr(client, name) for name in _OPTIONS if hasattr(client, name)},
    )
    mark = definition[MARK]
    return _with_origin(tool.model_copy(update={"metadata": mark.get("metadata")}), mark)


def definition_of(tool: Any) -> dict[str, JsonValue]:
    """A tool that is bound to a model, as it is recorded."""
    plain = tool if isinstance(tool, dict) else convert_to_openai_tool(tool)
    mark = _origin(tool)
    return dict(jsonable({**plain, MARK: mark} if mark else plain))


def with_marks(bound: Any, tools: Iterable[Any]) -> Any:
    """A model that tools were bound to, with a mark in the definition of each that a server listed."""
    marks = {tool.name: mark for tool in tools if (mark := _origin(tool))}
    if not marks or not isinstance(bound, RunnableBinding) or not isinstance(bound.kwargs.get("tools"), list):
        return bound
    definitions = [
        {**one, MARK: marks[name]} if (name := _name(one)) in marks else one for one in bound.kwargs["tools"]
    ]
    return bound.model_copy(update={"kwargs": {**bound.kwargs, "tools": definitions}})


def without_marks(kwargs: dict[str, Any]) -> dict[str, Any]:
    """What a model is to be sent."""
    tools = kwargs.get("tools")
    if not isinstance(tools, list):
        return kwargs
    plain = [{k: v for k, v in one.items() if k != MARK} if isinstance(one, dict) else one for one in tools]
    return {**kwargs, "tools": plain}


def _origin(tool: Any) -> Any:
    return (tool.metadata or {}).get(_ORIGIN) if isinstance(tool, BaseTool) else None


def _name(definition: Any) -> str | None:
    with suppress(ValueError):  # a form that LangChain cannot read, a provider's own
        if isinstance(definition, dict):
            name: str | None = convert_to_openai_tool(definition).get("function", {}).get("name")
            return name
    return None
