"""The adapter of LangChain and LangGraph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel, FakeListLLM
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import BaseModel

import rejudge
from rejudge.errors import UsageError
from rejudge.replay import agent_spec, replay_inputs, replay_session
from tests.otel.traces import sessions_of

from .agents import langchain_desk, langchain_traced
from .desk import Desk, served
from .running import OFFLINE, assert_equal, recorded, replayed
from .scenarios import OVERRIDES, Agent, replays_unchanged, replays_with

replayable: Any = rejudge.adapters.langchain.replayable


def handing_off() -> Desk:
    return Desk("transfer_to_spanish_agent")


AGENTS = {
    "async": Agent(langchain_desk.run),
    "async-streamed": Agent(langchain_desk.run, {"streamed": True}),
    "blocking": Agent(langchain_desk.run, {"blocking": True}),
    "handoff": Agent(langchain_desk.run, {"handoff": True}, handing_off),
}


@pytest.mark.parametrize("name", AGENTS)
def test_a_conversation_replays_offline_and_equals_its_recording(
    name: str, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = replays_unchanged(AGENTS[name], monkeypatch)
    assert len(baseline.llm_calls) == (9 if name == "handoff" else 10)
    failed = [node.error for node in baseline.tool_calls if node.status == "failed"]
    assert failed == ["no order 77"]
    assert all(node.input_tokens for node in baseline.llm_calls[:-1]) or "streamed" in name


@pytest.mark.parametrize(
    ("name", "agent"),
    [*((name, "async") for name in OVERRIDES), ("one-model", "handoff"), ("system-prompt", "blocking")],
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
    spec = agent_spec(entrypoint="langchain_desk.py:run", folder=Path(langchain_desk.__file__).parent)
    result = replay_session(baseline, spec, policies=OFFLINE)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0), result.reason
    assert result.outputs == baseline.session.outputs


TRACES = {
    "lc_oi/tools2.traces.00.pb": langchain_traced.run,
    "lc_oi/stream.traces.jsonl": langchain_traced.run_streamed,
    "lc_tl/tools2.traces.jsonl": langchain_traced.run,
    "lc_tl_dual/parallel.traces.00.pb": langchain_traced.run,
    "lc_langfuse/tools2.traces.jsonl": langchain_traced.run,
    "lc_langsmith/tools2.traces.jsonl": langchain_traced.run,
}


@pytest.mark.parametrize("file", TRACES)
def test_an_imported_session_replays_with_what_it_recorded(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_URL", "http://127.0.0.1:9/v1")  # nobody is there
    [imported] = sessions_of(file)
    outcome = replayed(TRACES[file], imported.view, inputs=replay_inputs(imported.view))
    assert_equal(outcome, imported.view)


@pytest.mark.parametrize("file", ["lc_oi/toolerr.traces.jsonl", "lc_langsmith/toolerr.traces.00.pb"])
def test_an_imported_session_that_failed_fails_with_the_recorded_error(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_URL", "http://127.0.0.1:9/v1")
    [imported] = sessions_of(file)
    outcome = replayed(langchain_traced.run, imported.view)
    assert isinstance(outcome.error, ValueError) and str(outcome.error) == "no order A-1009 in table orders"
    assert outcome.divergence is None and outcome.fidelity.ratio == 1.0


class Scripted(BaseChatModel):
    """A model that says these, one after the other; streams word by word."""

    steps: list[Any]
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[{"type": "function", "function": {"name": one.name}} for one in tools], **kwargs)

    def _next(self) -> Any:
        step = self.steps[self.asked]
        self.asked += 1
        if isinstance(step, Exception):
            raise step
        return step

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next())])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        step = self._next()
        for word in str(step.content).split(" "):
            if word == "BREAK":
                raise ConnectionError("cut")
            yield ChatGenerationChunk(message=AIMessageChunk(content=word + " "))


def calls(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "c1", "type": "tool_call"}])


def agent_of(tools: list[BaseTool], *steps: Any, **options: Any) -> Any:
    return create_agent(replayable(Scripted(steps=list(steps))), replayable(tools), **options)


def asked(agent: Any, config: Any = None) -> Any:
    return agent.invoke({"messages": [{"role": "user", "content": "x"}]}, config)


def twice(run: Callable[[], Any]) -> Any:
    """What a run gives, after a replay that gave the same."""
    baseline = recorded(lambda _: run(), "x")
    outcome = replayed(lambda _: run(), baseline)
    assert_equal(outcome, baseline)
    return outcome.outputs


def test_a_result_with_an_artifact_comes_back_with_it() -> None:
    ran: list[int] = []

    def search(query: str) -> tuple[str, list[str]]:
        """Search."""
        ran.append(1)
        return "two found", ["a", "b"]

    made = StructuredTool.from_function(search, response_format="content_and_artifact")

    def run() -> Any:
        message = asked(agent_of([made], calls("search", query="q"), AIMessage("done")))["messages"][2]
        return [message.content, message.artifact]

    assert twice(run) == ["two found", ["a", "b"]]
    assert ran == [1]


def test_an_interrupt_is_raised_again_and_the_answer_to_it_is_the_tapes() -> None:
    ran: list[Any] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(interrupt({"approve": amount}))
        return f"paid {amount}"

    def run() -> Any:
        thread = {"configurable": {"thread_id": "1"}}
        agent = agent_of([pay], calls("pay", amount=20), AIMessage("done"), checkpointer=InMemorySaver())
        first = asked(agent, thread)
        last = agent.invoke(Command(resume="yes"), thread)
        return [first["__interrupt__"][0].value, last["messages"][2].content]

    assert twice(run) == [{"approve": 20}, "paid 20"]
    assert ran == ["yes"]


def test_structured_output_is_the_models_answer() -> None:
    class Verdict(BaseModel):
        good: bool

    class Bound(Scripted):
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self.bind(tools=list(tools), **kwargs)

    def run() -> Any:
        model = replayable(Bound(steps=[calls("Verdict", good=True)]))
        return model.with_structured_output(Verdict).invoke("x").good

    assert twice(run) is True


def test_a_stream_that_broke_breaks_at_the_same_place() -> None:
    def run() -> list[str]:
        said: list[str] = []
        try:
            for chunk in replayable(Scripted(steps=[AIMessage("one two BREAK three")])).stream("x"):
                said.append(chunk.content)
        except ConnectionError as error:
            said.append(str(error))
        return said

    assert twice(run) == ["one ", "two ", "cut"]


def test_a_model_that_failed_fails_again_and_the_next_one_answers() -> None:
    def run() -> str:
        first, second = (
            replayable(Scripted(steps=[step])) for step in (ConnectionError("away"), AIMessage("second"))
        )
        return str(first.with_fallbacks([second]).invoke("x").content)

    assert twice(run) == "second"


def test_what_a_model_calls_of_itself_is_part_of_its_answer() -> None:
    class Echo(Scripted):
        async def _agenerate(
            self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
        ) -> ChatResult:
            return self._generate(messages, stop=stop, run_manager=None, **kwargs)

    def run(_: Any) -> str:
        return str(asyncio.run(replayable(Echo(steps=[AIMessage("hello")])).ainvoke("x")).content)

    baseline = recorded(run, "x")
    assert len(baseline.llm_calls) == 1
    assert_equal(replayed(run, baseline), baseline)


def test_the_model_and_the_tools_stay_what_they_were() -> None:
    model: Any = ChatOpenAI(model="gpt-4o-mini", api_key="test")  # type: ignore[arg-type]
    made = replayable(model)
    assert isinstance(made, ChatOpenAI) and made.root_client is model.root_client
    assert made.lc_id() == model.lc_id() and replayable(made) is made
    bound = replayable(model.bind_tools([langchain_traced.get_weather]))
    assert isinstance(bound.bound, ChatOpenAI) and bound.kwargs["tools"]
    weather = replayable(langchain_traced.get_weather)
    assert isinstance(weather, StructuredTool) and weather.args == langchain_traced.get_weather.args
    assert not getattr(type(langchain_traced.get_weather), "_rejudge_recorded", False)


class Native(Scripted):
    """A model with stream events of its own."""

    def _stream_chat_model_events(self, messages: Any, **kwargs: Any) -> Iterator[Any]:
        yield from ()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (FakeListLLM(responses=["x"]), "FakeListLLM"),
        (Native(steps=[]), "stream events"),
        (HumanMessage("x"), "Human"),
    ],
    ids=["completion", "native-events", "message"],
)
def test_what_cannot_be_intercepted_is_refused_before_the_run(target: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        replayable(target)
