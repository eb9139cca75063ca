"""The adapter of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from agents import Agent as SdkAgent
from agents import (
    ComputerTool,
    FunctionTool,
    Model,
    ModelProvider,
    ModelResponse,
    RunConfig,
    Runner,
    ToolOutputImage,
    Usage,
    function_tool,
)
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import rejudge
from rejudge.errors import UsageError
from rejudge.models.policy import PolicySet
from rejudge.replay import agent_spec, replay_inputs, replay_session
from tests.otel.traces import sessions_of

from .agents import openai_agents_desk, openai_agents_traced
from .desk import Desk, served, traced_desk
from .running import OFFLINE, assert_equal, recorded, replayed
from .scenarios import OVERRIDES, Agent, replays_unchanged, replays_with


def asking() -> Desk:
    return Desk(question="input")


def handing_off() -> Desk:
    return Desk("transfer_to_spanish_agent")


AGENTS = {
    "chat": Agent(openai_agents_desk.run, {"traced": True}, asking),
    "responses-streamed": Agent(openai_agents_desk.run, {"api": "responses", "streamed": True}, asking),
    "handoff": Agent(openai_agents_desk.run, {"handoff": "agent", "api": "responses"}, handing_off),
    "handoff-streamed": Agent(openai_agents_desk.run, {"handoff": "object", "streamed": True}, handing_off),
}


@pytest.mark.parametrize("name", AGENTS)
def test_a_conversation_replays_offline_and_equals_its_recording(
    name: str, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = replays_unchanged(AGENTS[name], monkeypatch)
    assert len(baseline.llm_calls) == (9 if "handoff" in name else 10)
    if name == "chat":  # the SDK's own span says which result is an error that the model was told
        [failed] = [node for node in baseline.tool_calls if node.status == "failed"]
        assert failed.error_type == "tool_error" and str(failed.outputs).startswith("An error occurred")
    assert all(node.input_tokens for node in baseline.llm_calls[:-1]) or "streamed" in name


@pytest.mark.parametrize(
    ("name", "agent"),
    [*((name, "chat") for name in OVERRIDES), ("one-model", "handoff"), ("system-prompt", "responses-streamed")],
)
def test_an_override_changes_what_follows_from_it_and_nothing_else(
    name: str, agent: str, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replays_with(name, AGENTS[agent], monkeypatch)


def test_a_replay_in_a_process_of_its_own_equals_the_recording(
    desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = AGENTS["handoff"]
    with served(agent.desk(), monkeypatch):
        baseline = recorded(agent.run, agent.inputs)
    spec = agent_spec(entrypoint="openai_agents_desk.py:run", folder=Path(openai_agents_desk.__file__).parent)
    result = replay_session(baseline, spec, policies=OFFLINE)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0), result.reason
    assert result.outputs == baseline.session.outputs


WHOLE_TRACES = {
    "oai_agents_oi/tools2.traces.jsonl": openai_agents_traced.run,
    "oai_agents_oi/stream.traces.00.pb": openai_agents_traced.run_streamed,
    "oai_agents_oi/toolerr.traces.00.pb": openai_agents_traced.run,
}


@pytest.mark.parametrize("file", WHOLE_TRACES)
def test_an_imported_session_replays_with_what_it_recorded(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_URL", "http://127.0.0.1:9/v1")  # nobody is there
    [imported] = sessions_of(file)
    outcome = replayed(WHOLE_TRACES[file], imported.view, inputs=replay_inputs(imported.view))
    assert_equal(outcome, imported.view)


PARTIAL_TRACES = {
    "oai_agents_oi/handoff.traces.jsonl": openai_agents_traced.run_handoff,
    "oai_agents_tl/tools2.traces.jsonl": openai_agents_traced.run,
    "oai_agents_tl/toolerr.traces.jsonl": openai_agents_traced.run,
    "oai_agents_tl/handoff.traces.00.pb": openai_agents_traced.run_handoff,
    "oai_agents_v2/tools2.traces.jsonl": openai_agents_traced.run,
    "oai_agents_v2/handoff.traces.00.pb": openai_agents_traced.run_handoff,
}


@pytest.mark.parametrize("file", PARTIAL_TRACES)
def test_an_imported_session_without_whole_requests_replays_its_tools(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [imported] = sessions_of(file)
    with served(traced_desk, monkeypatch):
        outcome = replayed(
            PARTIAL_TRACES[file], imported.view, policies=PolicySet(), inputs=replay_inputs(imported.view)
        )
    assert outcome.error is None, outcome.error
    assert outcome.fidelity.history == len([node for node in imported.view.tool_calls if "hand" not in node.name])
    assert outcome.fidelity.live == outcome.fidelity.misses == 0
    assert outcome.view.session.outputs == imported.view.session.outputs


class Scripted(Model):
    """A model that says these, one after the other."""

    def __init__(self, *steps: Any) -> None:
        self.steps, self.asked = list(steps), 0
        self.model = "desk"

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        step = self.steps[self.asked]
        self.asked += 1
        if isinstance(step, Exception):
            raise step
        return ModelResponse(output=[said(step) if isinstance(step, str) else step], usage=Usage(), response_id=None)

    async def stream_response(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        raise NotImplementedError
        yield


def said(text: str) -> ResponseOutputMessage:
    content = [ResponseOutputText(type="output_text", text=text, annotations=[])]
    return ResponseOutputMessage(id="m", role="assistant", status="completed", type="message", content=content)


def calls(name: str, arguments: str = "{}") -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(type="function_call", call_id="c1", name=name, arguments=arguments)


def run_agent(agent: SdkAgent[Any], **config: Any) -> Any:
    return asyncio.run(Runner.run(agent, "x", run_config=RunConfig(tracing_disabled=True, **config)))


def twice(run: Callable[[], Any]) -> Any:
    """What a run gives, after a replay that gave the same."""
    baseline = recorded(lambda _: run(), "x")
    outcome = replayed(lambda _: run(), baseline)
    assert_equal(outcome, baseline)
    return outcome.outputs


def test_an_image_comes_back_as_an_image() -> None:
    @function_tool
    def draw() -> ToolOutputImage:
        return ToolOutputImage(image_url="data:image/png;base64,cG5n")

    def run() -> Any:
        agent = SdkAgent("desk", tools=[draw], model=Scripted(calls("draw"), "done"))
        result = run_agent(rejudge.adapters.openai_agents.replayable(agent))
        return result.to_input_list()[2]["output"]

    assert twice(run)[0]["image_url"] == "data:image/png;base64,cG5n"


def test_a_tool_whose_errors_are_the_runs_fails_the_run_again() -> None:
    @function_tool(failure_error_function=None)
    def look() -> str:
        raise LookupError("no order 7")

    def run() -> str:
        agent = SdkAgent("desk", tools=[look], model=Scripted(calls("look")))
        try:
            return str(run_agent(rejudge.adapters.openai_agents.replayable(agent)).final_output)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    assert "no order 7" in twice(run)


def test_a_model_that_failed_fails_again() -> None:
    def run() -> str:
        agent = SdkAgent("desk", model=Scripted(ConnectionError("away")))
        try:
            return str(run_agent(rejudge.adapters.openai_agents.replayable(agent)).final_output)
        except ConnectionError as error:
            return str(error)

    assert twice(run) == "away"


def test_what_a_run_config_says_is_recorded_where_it_is_wrapped() -> None:
    class Provider(ModelProvider):
        def get_model(self, model_name: str | None) -> Model:
            return Scripted(f"I am {model_name}")

    def run() -> str:
        agent = rejudge.adapters.openai_agents.replayable(SdkAgent("desk"))
        provider = rejudge.adapters.openai_agents.replayable(Provider())
        return str(run_agent(agent, model="big", model_provider=provider).final_output)

    assert twice(run) == "I am big"


def test_agents_stay_the_ones_they_were() -> None:
    spanish = SdkAgent("Spanish", model=Scripted("Hola"))
    triage = SdkAgent("Triage", handoffs=[spanish], model=Scripted(calls("transfer_to_spanish")))
    spanish.handoffs.append(triage)  # a circle
    assert rejudge.adapters.openai_agents.replayable(triage) is triage
    assert run_agent(triage).last_agent is spanish


def approve(context: Any, arguments: Any, call_id: str) -> Any: ...


async def invoke(context: Any, arguments: str) -> str:
    return ""


REFUSED = {
    "computer": (ComputerTool(computer=object()), "ComputerTool"),  # type: ignore[arg-type]
    "approval": (FunctionTool("pay", "", {}, invoke, needs_approval=approve, strict_json_schema=False), "approves"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_intercepted_is_refused_before_the_run(name: str) -> None:
    tool, words = REFUSED[name]
    agent = SdkAgent("desk", tools=[tool])
    with pytest.raises(UsageError, match=words):
        rejudge.adapters.openai_agents.replayable(agent)
    assert agent.model is None
