"""Adapters one below the other, the decorator below an adapter, and adapters in an agent that is a command."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import rejudge
from rejudge.models.override import Override
from rejudge.models.policy import PassthroughPolicy, PolicySet
from rejudge.replay import agent_spec, replay_session
from tests.model_server import ModelServer, says

from .agents import langchain_desk, openai_desk
from .desk import served
from .running import OFFLINE, assert_equal, recorded, replayed
from .scenarios import Agent

LIVE = PolicySet(tools_default=PassthroughPolicy())


def test_a_decorated_tool_under_an_adapter_is_one_call() -> None:
    ran: list[str] = []

    def answer(messages: Any, info: Any) -> ModelResponse:
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("look", {"place": "here"}, "c1")])
        return ModelResponse(parts=[TextPart("done")])

    agent = PydanticAgent(
        FunctionModel(answer, model_name="desk"), capabilities=[rejudge.adapters.pydantic_ai.Replayable()]
    )

    @agent.tool_plain
    @rejudge.tool
    def look(place: str) -> str:
        """Look around."""
        ran.append(place)
        return "a tree"

    def run(_: Any) -> str:
        return asyncio.run(agent.run("x")).output

    baseline = recorded(run, "x")
    assert len(baseline.tool_calls) == 1
    assert_equal(replayed(run, baseline), baseline)
    outcome = replayed(run, baseline, policies=LIVE)
    assert outcome.fidelity.live == 1 and ran == ["here", "here"]


def test_a_client_under_a_framework_is_one_call_and_gets_the_override_once() -> None:
    async def ask(url: str) -> str:
        async with rejudge.adapters.openai.replayable(AsyncOpenAI(base_url=url, api_key="test")) as client:
            model = OpenAIChatModel("desk-1", provider=OpenAIProvider(openai_client=client))
            agent = PydanticAgent(model, capabilities=[rejudge.adapters.pydantic_ai.Replayable()])
            return (await agent.run("x")).output

    with ModelServer([says("hello")]) as server:

        def run(_: Any) -> str:
            return asyncio.run(ask(server.base_url))

        baseline = recorded(run, "x")
        assert len(baseline.llm_calls) == 1
        outcome = replayed(run, baseline, policies=LIVE, override=Override(model="desk-9"))
        assert outcome.fidelity.model_live == 1 and outcome.applied == ["model"]
        assert [request.body["model"] for request in server.requests] == ["desk-1", "desk-9"]
    assert_equal(replayed(run, baseline), baseline)


COMMAND = """
import json, sys
sys.path[:0] = {path!r}
from tests.replay.adapters.agents.{module} import run
print(json.dumps(run(json.load(sys.stdin))))
"""


@pytest.mark.parametrize("module", [openai_desk, langchain_desk], ids=["openai", "langchain"])
def test_an_agent_that_is_a_command_replays_through_its_adapter(
    module: Any, tmp_path: Path, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module.__name__.rpartition(".")[2]
    root = str(Path(__file__).parents[3])
    (tmp_path / "agent.py").write_text(COMMAND.format(path=[root], module=name))
    spec = agent_spec(command=f"{sys.executable} agent.py", folder=tmp_path)
    agent = Agent(module.run)
    with served(agent.desk(), monkeypatch):
        baseline = recorded(agent.run, agent.inputs)
    ran = desk_log.read_text()
    result = replay_session(baseline, spec, policies=OFFLINE, environment=dict(os.environ))
    assert result.status == "completed", (result.reason, result.output)
    assert result.fidelity.tools_equal and result.fidelity.requests_equal and result.fidelity.ratio == 1.0
    assert desk_log.read_text() == ran
