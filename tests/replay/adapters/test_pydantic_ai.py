"""The adapter of pydantic-ai."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import (
    ApprovalRequired,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolReturn,
)
from pydantic_ai.capabilities import BatchModelRequests, Hooks
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, FunctionModel

import rejudge
from rejudge.errors import UsageError
from rejudge.models.override import Override
from rejudge.replay import agent_spec, replay_inputs, replay_session
from tests.otel.traces import sessions_of

from .agents import pydantic_ai_desk, pydantic_ai_traced
from .desk import served
from .running import OFFLINE, UNTIL, answers, assert_equal, recorded, replayed
from .scenarios import OVERRIDES, Agent, replays_unchanged, replays_with

AGENTS = {
    "chat": Agent(pydantic_ai_desk.run),
    "chat-streamed": Agent(pydantic_ai_desk.run, {"streamed": True}),
    "responses-instructions": Agent(pydantic_ai_desk.run, {"api": "responses", "instructions": True}),
    "instrumented": Agent(pydantic_ai_desk.run, {"instrumented": True}),
}


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_conversation_replays_offline_and_equals_its_recording(
    agent: Agent, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = replays_unchanged(agent, monkeypatch)
    retried = [node.error_type for node in baseline.tool_calls if node.status == "failed"]
    assert retried == ["pydantic_ai.exceptions.ModelRetry"]
    assert len(baseline.llm_calls) == 10 and all(node.input_tokens for node in baseline.llm_calls)


@pytest.mark.parametrize(
    ("name", "agent"),
    [
        *((name, "chat") for name in OVERRIDES),
        ("system-prompt", "responses-instructions"),
        ("params", "chat-streamed"),
    ],
)
def test_an_override_changes_what_follows_from_it_and_nothing_else(
    name: str, agent: str, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replays_with(name, AGENTS[agent], monkeypatch)


def test_a_replay_in_a_process_of_its_own_equals_the_recording(
    desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = AGENTS["chat"]
    with served(agent.desk(), monkeypatch):
        baseline = recorded(agent.run, agent.inputs)
    spec = agent_spec(entrypoint="pydantic_ai_desk.py:run", folder=Path(pydantic_ai_desk.__file__).parent)
    result = replay_session(baseline, spec, policies=OFFLINE)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0), result.reason
    assert result.outputs == baseline.session.outputs


@pytest.mark.parametrize("fork", ["tool:get_weather#3", "model:desk-1#7"], ids=["in-the-sub-agent", "after-it"])
def test_a_fork_point_inside_and_after_a_sub_agent(
    fork: str, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = AGENTS["instrumented"]  # its own spans show the tool around the sub-agent
    with served(agent.desk(), monkeypatch):
        baseline = recorded(agent.run, agent.inputs)
        outcome = replayed(
            agent.run, baseline, policies=UNTIL, fork=fork, override=Override(model_params={"temperature": 0.9})
        )
    assert outcome.error is None, outcome.error
    before = {"tool:get_weather#3": 7, "model:desk-1#7": 8}[fork]
    assert answers(outcome.view)[:before] == ["history"] * before and "live" in answers(outcome.view)[before:]


TRACES = {
    "pyai2/tools2.traces.00.pb": pydantic_ai_traced.run,
    "pyai2/stream.traces.00.pb": pydantic_ai_traced.run_streamed,
    "pyai2/retry.traces.00.pb": pydantic_ai_traced.run,
    "pyai2/multi.traces.00.pb": pydantic_ai_traced.run_turns,
    "pyai1l/tools2.traces.jsonl": pydantic_ai_traced.run,
    "pyai1v1/tools2.traces.jsonl": pydantic_ai_traced.run,
    "pyai0/tools2.traces.00.pb": pydantic_ai_traced.run,
}


@pytest.mark.parametrize("file", TRACES)
def test_an_imported_session_replays_with_what_it_recorded(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_URL", "http://127.0.0.1:9/v1")  # nobody is there
    [imported] = sessions_of(file)
    outcome = replayed(TRACES[file], imported.view, inputs=replay_inputs(imported.view))
    assert_equal(outcome, imported.view)


def test_an_imported_session_that_failed_fails_with_the_recorded_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_URL", "http://127.0.0.1:9/v1")
    [imported] = sessions_of("pyai2/toolerr.traces.00.pb")
    outcome = replayed(pydantic_ai_traced.run, imported.view)
    assert isinstance(outcome.error, ValueError) and str(outcome.error) == "no order A-1009 in table orders"
    assert outcome.divergence is None and outcome.fidelity.ratio == 1.0


def agent_of(*steps: Any, **options: Any) -> PydanticAgent[None, Any]:
    """An agent whose model gives these answers: a text, calls, or an error to raise."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        step = steps[sum(isinstance(message, ModelResponse) for message in messages)]
        if isinstance(step, Exception):
            raise step
        return ModelResponse(parts=[TextPart(step)] if isinstance(step, str) else list(step))

    capabilities = [rejudge.adapters.pydantic_ai.Replayable(), *options.pop("capabilities", ())]
    return PydanticAgent(FunctionModel(answer, model_name="desk"), capabilities=capabilities, **options)


def ask(agent: PydanticAgent[None, Any], prompt: str | None, **options: Any) -> Any:
    """One run of an agent."""
    return asyncio.run(agent.run(prompt, **options))


def twice(run: Callable[[], Any]) -> Any:
    """What a run gives, after a replay that gave the same."""
    baseline = recorded(lambda _: run(), "x")
    outcome = replayed(lambda _: run(), baseline)
    assert_equal(outcome, baseline)
    return outcome.outputs


def test_files_and_structured_returns_come_back_as_what_they_were() -> None:
    agent = agent_of([ToolCallPart("look", {}, "c1"), ToolCallPart("draw", {}, "c2")], "done")
    ran: list[str] = []

    @agent.tool_plain
    def look() -> ToolReturn[str]:
        ran.append("look")
        return ToolReturn(
            "a picture", content=["see:", BinaryContent(b"png", media_type="image/png")], metadata={"a": 1}
        )

    @agent.tool_plain
    def draw() -> list[Any]:
        ran.append("draw")
        return ["here", BinaryContent(b"jpg", media_type="image/jpeg")]

    def run() -> Any:
        messages = ask(agent, "x").all_messages()
        [asked] = [message for message in messages[2:] if message.kind == "request"]
        parts = [part for part in asked.parts if isinstance(part, ToolReturnPart)]
        seen = [*(part.content_items() for part in parts), asked.parts[-1].content]
        return [[getattr(item, "data", item) for item in items] for items in seen] + [parts[0].metadata]

    assert twice(run) == [["a picture"], ["here", "anBn"], ["see:", "cG5n"], {"a": 1}]
    assert sorted(ran) == ["draw", "look"]


def test_an_approval_that_is_asked_for_is_asked_for_again() -> None:
    agent = agent_of([ToolCallPart("pay", {"amount": 20}, "c1")], "paid", output_type=[str, DeferredToolRequests])

    @agent.tool
    def pay(ctx: RunContext[None], amount: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"limit": 10})
        return f"paid {amount}"

    def run() -> Any:
        asked = ask(agent, "x")
        assert isinstance(asked.output, DeferredToolRequests)
        results = DeferredToolResults(approvals={"c1": True})
        approved = ask(agent, None, message_history=asked.all_messages(), deferred_tool_results=results)
        return [asked.output.metadata, approved.output]

    assert twice(run) == [{"c1": {"limit": 10}}, "paid"]


def test_a_tool_that_just_raises_fails_the_run_as_it_did() -> None:
    agent = agent_of([ToolCallPart("look", {}, "c1")])

    @agent.tool_plain
    def look() -> str:
        raise LookupError("no order 7")

    def run() -> str:
        try:
            return str(ask(agent, "x").output)
        except LookupError as error:
            return f"{type(error).__name__} {error}"

    assert twice(run) == "LookupError no order 7"


def test_a_model_that_failed_fails_again_and_the_next_one_answers() -> None:
    failing = rejudge.adapters.pydantic_ai.RecordedModel(FunctionModel(refusing, model_name="first"))

    def second(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("second")])

    backup = rejudge.adapters.pydantic_ai.RecordedModel(FunctionModel(second, model_name="second"))
    agent = PydanticAgent(FallbackModel(failing, backup))
    assert twice(lambda: ask(agent, "x").output) == "second"


def refusing(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    raise ModelHTTPError(503, "first", {"error": "busy"})


def test_a_stream_that_broke_breaks_at_the_same_place() -> None:
    async def pieces(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "one "
        yield "two "
        raise ModelHTTPError(500, "desk", None)

    agent = PydanticAgent(
        FunctionModel(stream_function=pieces, model_name="desk"),
        capabilities=[rejudge.adapters.pydantic_ai.Replayable()],
    )

    async def read() -> list[str]:
        said: list[str] = []
        try:
            async with agent.run_stream("x") as streamed:
                async for delta in streamed.stream_text(delta=True, debounce_by=None):
                    said.append(delta)
        except ModelHTTPError as error:
            said.append(str(error.status_code))
        return said

    assert twice(lambda: asyncio.run(read())) == ["one ", "two ", "500"]


def test_hooks_around_a_tool_run_in_a_replay_too() -> None:
    hooks: Hooks[None] = Hooks()
    seen: list[Any] = []

    @hooks.on.after_tool_execute
    async def shout(ctx: Any, *, call: Any, tool_def: Any, args: Any, result: Any) -> Any:
        seen.append(result)
        return str(result).upper()

    agent = agent_of([ToolCallPart("look", {}, "c1")], "done", capabilities=[hooks])
    agent.tool_plain(look_around)
    assert twice(lambda: ask(agent, "x").output) == "done"
    assert seen == ["a tree", "a tree"]


def look_around() -> str:
    return "a tree"


look_around.__name__ = "look"


def test_requests_in_batches_are_refused_before_the_run() -> None:
    agent = agent_of("x", capabilities=[BatchModelRequests()])
    with pytest.raises(UsageError, match="does not intercept requests that BatchModelRequests sends"):
        ask(agent, "x")
