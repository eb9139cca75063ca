"""Tools of MCP servers: in a replay neither their list nor their results are asked of the server."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rejudge
from rejudge.models.policy import HistoryPolicy, PassthroughPolicy, PolicySet
from rejudge.models.session import SessionView

from .agents import mcp_weather
from .desk import touched
from .running import assert_equal, recorded, replayed

SCRIPT = Path(mcp_weather.__file__)
TOOLS_LIVE = PolicySet(models_default=HistoryPolicy(), tools_default=PassthroughPolicy())


def with_pydantic_ai(_: Any) -> str:
    pytest.importorskip("fastmcp")
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: Any, info: Any) -> ModelResponse:
        assert [tool.name for tool in info.function_tools] == ["get_weather"]
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("get_weather", {"city": "Paris"}, "c1")])
        return ModelResponse(parts=[TextPart(f"It is {messages[-1].parts[0].content}")])

    transport = StdioTransport(sys.executable, [str(SCRIPT)], env=dict(os.environ), keep_alive=False)
    agent = Agent(
        FunctionModel(answer, model_name="desk"),
        toolsets=[MCPToolset(transport, id="weather")],
        capabilities=[rejudge.adapters.pydantic_ai.Replayable()],
    )
    return asyncio.run(agent.run("x")).output


def with_openai_agents(_: Any) -> str:
    from agents import Agent, RunConfig, Runner
    from agents.mcp import MCPServerStdio

    from .test_openai_agents import Scripted, calls

    async def run() -> str:
        parameters: Any = {"command": sys.executable, "args": [str(SCRIPT)], "env": dict(os.environ)}
        served = rejudge.adapters.openai_agents.replayable(MCPServerStdio(parameters, name="weather"))
        async with served as server:
            model = Scripted(calls("get_weather", '{"city": "Paris"}'), "It is 18 °C in Paris")
            agent: Any = Agent("desk", mcp_servers=[server], model=model)
            replayable = rejudge.adapters.openai_agents.replayable(agent)
            result = await Runner.run(replayable, "x", run_config=RunConfig(tracing_disabled=True))
            return str(result.final_output)

    return asyncio.run(run())


FRAMEWORKS = {"pydantic_ai": with_pydantic_ai, "openai_agents": with_openai_agents}


@pytest.fixture(params=FRAMEWORKS)
def run(request: pytest.FixtureRequest, desk_log: Path) -> Callable[[Any], str]:
    """An agent that calls a tool of the server."""
    return FRAMEWORKS[request.param]


@pytest.fixture
def baseline(run: Callable[[Any], str]) -> SessionView:
    """One run with the server."""
    view = recorded(run, "x")
    assert touched() == ["started", "get_weather Paris"]
    assert view.session.outputs == "It is 18 °C in Paris"
    return view


def test_a_replay_needs_no_server(run: Callable[[Any], str], baseline: SessionView) -> None:
    assert_equal(replayed(run, baseline), baseline)
    assert touched() == ["started", "get_weather Paris"]
    [tool] = baseline.llm_calls[0].inputs["tools"]
    assert tool["mcp_server"] == {"name": "weather", "tool": "get_weather"}


def test_a_call_that_goes_live_connects_to_the_server(run: Callable[[Any], str], baseline: SessionView) -> None:
    outcome = replayed(run, baseline, policies=TOOLS_LIVE)
    assert outcome.error is None and outcome.divergence is None and outcome.fidelity.live == 1
    assert touched() == ["started", "get_weather Paris"] * 2
