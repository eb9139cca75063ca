"""The OpenAI Agents SDK: agents whose models and tools are on record, and answered in a replay.

agent = rejudge.adapters.openai_agents.replayable(Agent("desk", tools=[look_up], handoffs=[spanish]))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar, overload

from agents import (
    Agent,
    ApplyPatchTool,
    ComputerTool,
    CustomTool,
    FunctionTool,
    Handoff,
    LocalShellTool,
    Model,
    ModelProvider,
    RunContextWrapper,
    ShellTool,
    Tool,
)
from agents.mcp import MCPServer

from rejudge.errors import UsageError
from rejudge.replay.adapters.openai_agents_mcp import record_server
from rejudge.replay.adapters.openai_agents_model import RecordedModel, RecordedProvider
from rejudge.replay.adapters.openai_agents_tools import record_tool
from rejudge.replay.adapters.table import OPENAI_AGENTS as CAPABILITIES

__all__ = ["CAPABILITIES", "RecordedModel", "RecordedProvider", "replayable"]

_RUN_HERE: Final = (ApplyPatchTool, ComputerTool, CustomTool, LocalShellTool, ShellTool)
_MARK: Final = "_rejudge_replayable"

AnyAgent = TypeVar("AnyAgent", bound=Agent[Any])
Server = TypeVar("Server", bound=MCPServer)


@overload
def replayable(target: AnyAgent) -> AnyAgent: ...


@overload
def replayable(target: Model) -> RecordedModel: ...


@overload
def replayable(target: ModelProvider) -> RecordedProvider: ...


@overload
def replayable(target: Server) -> Server: ...


def replayable(target: Any) -> Any:
    """The same agent, its models, tools, handoffs and MCP servers on record and answered from the tape in a replay.

    The agent is changed in place, and so are all that it hands off to and that it calls as tools: who compares
    agents finds the ones they know. A model or a provider that is given in a ``RunConfig`` takes the place of the
    agent's own: wrap it as well, ``RunConfig(model=replayable(model))``. So does an MCP server that is connected
    before the agent is made: ``async with replayable(server)`` connects to nothing in a replay.

    Raises:
        UsageError: For an agent with tools that cannot be intercepted.
    """
    if isinstance(target, Model):
        return target if isinstance(target, RecordedModel) else RecordedModel(target)
    if isinstance(target, ModelProvider):
        return RecordedProvider(target)
    if isinstance(target, MCPServer):
        record_server(target)
    else:
        _record_agent(target)
    return target


def _record_agent(agent: Agent[Any]) -> None:
    if getattr(agent, _MARK, False):
        return
    for tool in agent.tools:
        _refuse(agent, tool)
    setattr(agent, _MARK, True)
    for server in agent.mcp_servers:
        record_server(server)
    agent.model = agent.model if isinstance(agent.model, RecordedModel) else RecordedModel(agent.model)
    for tool in agent.tools:
        _record_agent_tool(tool)
    for handoff in agent.handoffs:
        if isinstance(handoff, Handoff):
            _record_handoff(handoff)
        else:
            _record_agent(handoff)
    _record_served_tools(agent)


def _refuse(agent: Agent[Any], tool: Tool) -> None:
    """Refuse a tool that runs here and cannot be answered, before anything runs."""
    if isinstance(tool, _RUN_HERE):
        what = f"{type(tool).__name__} {tool.name!r}"
    elif isinstance(tool, FunctionTool) and callable(tool.needs_approval):
        # The SDK shows such a function arguments that it has prepared itself, with its own invoker only.
        what = f"the function that approves calls of {tool.name!r}"
    else:
        return
    raise UsageError(
        f"the openai_agents adapter does not intercept {what} of agent {agent.name!r}",
        mend="replay the agent without it, or put @rejudge.tool on the function that does the work",
    )


def _record_agent_tool(tool: Tool) -> None:
    if not isinstance(tool, FunctionTool):
        return  # runs where the model runs, and is part of its answer
    inner = getattr(tool, "_agent_instance", None)
    if isinstance(inner, Agent):
        _record_agent(inner)  # runs in a replay too: what is inside is answered call by call
    else:
        record_tool(tool)


def _record_handoff(handoff: Handoff[Any, Any]) -> None:
    invoke = handoff.on_invoke_handoff
    if getattr(invoke, _MARK, False):
        return

    async def invoke_and_record(context: RunContextWrapper[Any], arguments: str) -> Any:
        agent = await invoke(context, arguments)
        if isinstance(agent, Agent):
            _record_agent(agent)
        return agent

    setattr(invoke_and_record, _MARK, True)
    handoff.on_invoke_handoff = invoke_and_record


def _record_served_tools(agent: Agent[Any]) -> None:
    """The tools of MCP servers are made anew for every turn."""
    get: Callable[[RunContextWrapper[Any]], Awaitable[list[Tool]]] = agent.get_mcp_tools

    async def get_and_record(run_context: RunContextWrapper[Any]) -> list[Tool]:
        tools = await get(run_context)
        for tool in tools:
            _record_agent_tool(tool)
        return tools

    agent.get_mcp_tools = get_and_record  # type: ignore[method-assign]  # this agent's only
