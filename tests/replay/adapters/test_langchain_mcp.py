"""MCP servers behind the client of `langchain-mcp-adapters`, which connects for every list and for every call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

from rejudge.models.policy import HistoryPolicy, PassthroughPolicy, PolicySet
from rejudge.models.session import Node, SessionView
from rejudge.replay import agent_spec, replay_session
from tests.model_server import ModelServer, Reply, Request, calls, says

from .desk import served, touched
from .running import OFFLINE, assert_equal, recorded, replayed
from .test_langchain import Scripted, replayable
from .test_langchain import calls as scripted

pytest.importorskip("langchain_mcp_adapters")

from .agents import langchain_mcp_desk

pytestmark = pytest.mark.extras

TOOLS_LIVE = PolicySet(models_default=HistoryPolicy(), tools_default=PassthroughPolicy())
STARTED = ["started", "started"]
"""Both servers, for their lists."""


def desk(request: Request) -> Reply:
    """Asks for the weather in the city it is told, and says what it was given."""
    messages = request.body["messages"]
    if len(messages) == 1:
        return calls("weather_get_weather", {"city": messages[0]["content"]})
    return says(f"The desk says: {messages[-1]['content'][0]['text']}")


@pytest.fixture
def model(desk_log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """The model of the agent."""
    with served(desk, monkeypatch) as running:
        yield running


def run(inputs: dict[str, Any]) -> Any:
    return asyncio.run(langchain_mcp_desk.run(inputs))


@pytest.fixture
def baseline(model: ModelServer) -> SessionView:
    """One run with both servers, and a model that is gone afterwards."""
    return recorded(run, {"city": "Paris"})


def test_neither_server_is_asked_again_and_the_tools_are_the_same(baseline: SessionView) -> None:
    ran = touched()
    assert sorted(ran) == ["get_weather Paris", "started", *STARTED]
    outcome = replayed(run, baseline)
    assert_equal(outcome, baseline)
    assert touched() == ran
    assert outcome.outputs["tool"] == ["weather_get_weather", "The weather in a city.", ["city"], True]
    definitions = [call.inputs["tools"] for view in (baseline, outcome.view) for call in view.llm_calls]
    assert all(tools == definitions[0] for tools in definitions)


def test_the_model_is_not_told_of_the_server(model: ModelServer) -> None:
    view = recorded(run, {"city": "Paris"})
    [sent] = model.requests[0].body["tools"]
    [kept] = view.llm_calls[0].inputs["tools"]
    mark = kept.pop("mcp_server")
    assert kept == sent
    assert (mark["name"], mark["tool"], mark["beside"]) == ("weather", "get_weather", ["spare"])


def test_a_replay_in_a_process_of_its_own_reaches_no_server(baseline: SessionView) -> None:
    ran = touched()
    spec = agent_spec(entrypoint="langchain_mcp_desk.py:run", folder=Path(langchain_mcp_desk.__file__).parent)
    result = replay_session(baseline, spec, policies=OFFLINE)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0), result.reason
    assert touched() == ran


def test_a_call_that_goes_live_connects_to_its_server_alone(baseline: SessionView) -> None:
    ran = touched()
    outcome = replayed(run, baseline, policies=TOOLS_LIVE)
    assert outcome.error is None and outcome.divergence is None and outcome.fidelity.live == 1
    assert touched() == [*ran, "started", "get_weather Paris"]


def test_a_step_after_the_fork_connects(baseline: SessionView) -> None:
    ran = touched()
    outcome = replayed(run, baseline, policies=TOOLS_LIVE, fork="tool:weather_get_weather#1")
    assert outcome.error is None and outcome.fidelity.live == 1
    assert touched() == [*ran, "started", "get_weather Paris"]


def _anthropics(tool: Any) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.args_schema}


def _bedrocks(tool: Any) -> dict[str, Any]:
    return {"toolSpec": {"name": tool.name, "inputSchema": {"json": tool.args_schema}}}


@pytest.mark.parametrize("form", [_anthropics, _bedrocks])
def test_other_forms_of_definitions_name_their_server_too(form: Callable[[Any], Any], desk_log: Path) -> None:
    class Other(Scripted):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=[form(tool) for tool in tools], **kwargs)

    async def ask(_: Any) -> str:
        tools = await replayable(langchain_mcp_desk.client_of("weather")).get_tools()
        agent = create_agent(
            replayable(Other(steps=[scripted("get_weather", city="Oslo"), AIMessage("done")])), tools
        )
        result = await agent.ainvoke({"messages": [{"role": "user", "content": "x"}]})
        return str(result["messages"][2].content[0]["text"])

    baseline = recorded(lambda inputs: asyncio.run(ask(inputs)), "x")
    assert baseline.session.outputs == "18 °C in Oslo"
    ran = touched()
    assert_equal(replayed(lambda inputs: asyncio.run(ask(inputs)), baseline), baseline)
    assert touched() == ran


def test_one_server_is_asked_for_by_name(model: ModelServer) -> None:
    baseline = recorded(run, {"city": "Paris", "server": "weather"})
    assert touched() == ["started", "started", "get_weather Paris"]
    assert_equal(replayed(run, baseline), baseline)
    assert touched() == ["started", "started", "get_weather Paris"]


def test_a_server_that_does_not_exist_is_refused_in_the_clients_words(desk_log: Path) -> None:
    client = replayable(langchain_mcp_desk.client_of("weather"))
    with pytest.raises(ValueError, match="Couldn't find a server with name 'other'"):
        asyncio.run(client.get_tools(server_name="other"))


def test_a_tool_that_failed_fails_again_and_the_agent_copes_again(model: ModelServer) -> None:
    baseline = recorded(run, {"city": "Atlantis"})
    assert [call.status for call in baseline.tool_calls] == ["failed"]
    outcome = replayed(run, baseline)
    assert_equal(outcome, baseline)
    [text], status = outcome.outputs["shown"]
    assert "no such city" in text and status == "error"


def test_a_failure_that_was_recorded_as_text_only_is_shown_as_its_text(model: ModelServer) -> None:
    recorded_here = recorded(run, {"city": "Atlantis"})
    baseline = with_nodes(recorded_here, "tool_call", outputs=lambda _: None)
    outcome = replayed(run, baseline)
    assert outcome.error is None and outcome.divergence is None
    assert outcome.outputs["shown"] == recorded_here.session.outputs["shown"]


def test_a_recording_that_names_no_server_is_replayed_with_the_servers_list(baseline: SessionView) -> None:
    ran = touched()
    older = with_nodes(baseline, "llm_call", inputs=without_marks)
    assert_equal(replayed(run, older), older)
    assert touched() == [*ran, *STARTED]


def with_nodes(view: SessionView, node_type: str, **changes: Callable[[Any], Any]) -> SessionView:
    """The session as something else might have recorded it."""

    def changed(node: Node) -> Node:
        if node.node_type != node_type:
            return node
        return node.model_copy(update={name: change(getattr(node, name)) for name, change in changes.items()})

    return SessionView(view.session, [changed(node) for node in view.nodes])


def without_marks(inputs: Any) -> Any:
    tools = [{key: value for key, value in tool.items() if key != "mcp_server"} for tool in inputs["tools"]]
    return {**inputs, "tools": tools}


def test_the_client_stays_what_it_was() -> None:
    client = langchain_mcp_desk.client_of("weather")
    made = replayable(client)
    assert isinstance(made, type(client)) and made.connections is client.connections
    assert replayable(made) is made
    assert not getattr(type(client), "_rejudge_recorded", False)
