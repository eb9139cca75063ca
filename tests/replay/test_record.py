"""``rejudge.record``: what a run leaves, and that it never breaks the agent."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

import rejudge
from rejudge.models.session import SessionView
from rejudge.replay import ModelRequest, ModelResponse, call_model, chat_messages, model_call, replaying, tool_call_id
from rejudge.replay import record as recording_module

from .build import message


@rejudge.tool
def look(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order}


def answering(request: ModelRequest) -> ModelResponse:
    return ModelResponse(
        messages=({**message("assistant", "Done"), "finish_reason": "stop"},),
        model="desk-2026",
        response_id="r1",
        finish_reason="stop",
        input_tokens=12,
        output_tokens=3,
    )


def recorded(run: Any, **options: Any) -> SessionView:
    kept: list[Any] = []
    with rejudge.record("support", save=kept.append, **options) as recording:
        recording.outputs = run()
    view: SessionView = kept[0].view
    return view


def test_a_run_is_a_session_with_its_calls_inputs_and_outputs() -> None:
    def run() -> dict[str, str]:
        with tool_call_id("call_1"):
            look("A1")
        request = ModelRequest("desk", (message("user", "hi"),), parameters={"temperature": 0.5}, provider="openai")
        return {"answer": call_model(request, answering).text}

    view = recorded(run, inputs={"messages": [{"role": "user", "content": "hi"}]})
    assert view.session.inputs == {"messages": [{"role": "user", "content": "hi"}]}
    assert view.session.outputs == {"answer": "Done"}
    assert (view.session.status, view.session.source, view.session.agents) == ("completed", "rejudge", ("support",))
    [tool_node], [model_node] = view.tool_calls, view.llm_calls
    assert (tool_node.tool_call_id, tool_node.inputs, tool_node.outputs) == (
        "call_1",
        {"order": "A1"},
        {"order": "A1"},
    )
    assert (model_node.requested_model, model_node.model, model_node.input_tokens) == ("desk", "desk-2026", 12)
    assert model_node.inputs["parameters"] == {"temperature": 0.5}


@pytest.mark.parametrize(
    ("args", "kwargs", "inputs"),
    [(({"q": 1},), {}, {"q": 1}), (("x",), {"deep": True}, {"question": "x", "deep": True}), (("x",), {}, "x")],
    ids=["one", "named", "text"],
)
def test_a_decorated_function_is_recorded_with_what_it_was_called_with(args: Any, kwargs: Any, inputs: Any) -> None:
    kept: list[Any] = []

    @rejudge.record("support", save=kept.append)
    def run(question: Any, deep: bool = False) -> str:
        look("A1")
        return "yes"

    assert run(*args, **kwargs) == "yes"
    assert (kept[0].view.session.inputs, kept[0].view.session.outputs) == (inputs, "yes")


def test_runs_side_by_side_are_sessions_of_their_own() -> None:
    kept: list[Any] = []

    @rejudge.record("support", save=kept.append)
    async def run(order: str) -> str:
        await asyncio.sleep(0.01)
        look(order)
        return order

    async def both() -> list[str]:
        return await asyncio.gather(*(run(f"A{number}") for number in range(5)))

    assert asyncio.run(both()) == [f"A{number}" for number in range(5)]
    calls = [[node.inputs["order"] for node in one.view.tool_calls] for one in kept]
    assert sorted(calls) == [[f"A{number}"] for number in range(5)]
    assert all(one.view.session.outputs == one.view.tool_calls[0].inputs["order"] for one in kept)


def test_what_a_thread_does_belongs_to_the_only_run() -> None:
    def run() -> None:
        thread = threading.Thread(target=look, args=("A1",))
        thread.start()
        thread.join()

    assert [node.inputs for node in recorded(run).tool_calls] == [{"order": "A1"}]


def test_an_agents_own_spans_are_in_its_session() -> None:
    def run() -> None:
        with trace.get_tracer("shop").start_as_current_span("price check") as span:
            span.set_attribute("shop.items", 3)
            look("A1")

    view = recorded(run)
    [span] = [node for node in view.nodes if node.name == "price check"]
    assert span.attributes == {"shop.items": 3} and view.tool_calls[0].parent_id == span.id


def test_a_run_that_fails_is_a_failed_session_and_the_error_is_the_agents() -> None:
    kept: list[Any] = []
    with pytest.raises(ValueError, match="no order"), rejudge.record("support", inputs="x", save=kept.append):
        raise ValueError("no order")
    session = kept[0].view.session
    assert (session.status, session.error, session.inputs) == ("failed", "no order", "x")


def test_a_store_that_is_away_costs_one_line(caplog: pytest.LogCaptureFixture) -> None:
    def away(recording: Any) -> None:
        raise ConnectionError("could not connect\nDETAIL: a whole page")

    with caplog.at_level(logging.WARNING), rejudge.record("support", inputs="x", save=away) as run:
        run.outputs = "fine"
    assert [record.getMessage() for record in caplog.records] == [
        "rejudge: this run of 'support' is not recorded: could not connect"
    ]
    assert run.saved is None and run.outputs == "fine"


def test_a_store_that_hangs_costs_some_seconds(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording_module, "SAVE_SECONDS", 0.1)
    ended = threading.Event()
    with caplog.at_level(logging.WARNING), rejudge.record("support", save=lambda _: ended.wait(60)):
        pass
    assert "did not answer" in caplog.text
    ended.set()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[rejudge.Store]:
    """The store of the current folder, which is a new one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REJUDGE_DATABASE_URL", raising=False)
    with rejudge.open() as opened:
        yield opened


def test_a_run_is_stored_where_the_commands_look_for_it(store: rejudge.Store) -> None:
    with rejudge.record("support", inputs="A1", tag="monday") as run:
        run.outputs = look("A1")
    [session] = store.sessions.list(tag="monday")
    assert (session.agent, session.origin, session.inputs, session.outputs) == (
        "support",
        "recorded",
        "A1",
        {"order": "A1"},
    )
    assert run.saved.session_id == session.id


def test_the_turns_of_a_conversation_are_one_session(store: rejudge.Store) -> None:
    for order in ("A1", "B2", "C3"):
        with rejudge.record("support", inputs=order, session="conversation-7") as run:
            run.outputs = look(order)
    [session] = store.sessions.list()
    view = store.sessions.get(session.id)
    assert session.external_id == "conversation-7" and session.tool_call_count == 3
    assert [node.inputs["order"] for node in view.tool_calls] == ["A1", "B2", "C3"]
    assert (session.inputs, session.outputs) == ("A1", {"order": "C3"})


def test_a_coroutine_is_stored_without_holding_up_the_loop(store: rejudge.Store) -> None:
    saving, ticked = threading.Event(), threading.Event()
    seen: list[bool] = []

    async def tick() -> None:
        while True:
            await asyncio.sleep(0.001)
            if saving.is_set():
                ticked.set()

    def slow(recording: Any) -> None:
        saving.set()
        seen.append(ticked.wait(10))

    @rejudge.record("support", save=slow)
    async def run(order: str) -> Any:
        return look(order)

    async def main() -> None:
        ticking = asyncio.create_task(tick())
        await run("A1")
        ticking.cancel()

    asyncio.run(main())
    assert seen == [True]


def test_in_a_replay_nothing_is_recorded_twice() -> None:
    kept: list[Any] = []
    view = recorded(lambda: look("A1"), inputs="x")
    with replaying(view), rejudge.record("support", save=kept.append):
        assert look("A1") == {"order": "A1"}
    assert not kept


def test_a_model_call_by_hand_is_recorded_and_answered() -> None:
    sent: list[list[dict[str, Any]]] = []
    body = {
        "id": "chatcmpl-1",
        "model": "desk-2026",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"order": "A1"}'}}
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 4},
    }

    def send(request: ModelRequest) -> dict[str, Any]:
        sent.append(chat_messages(request))
        return body

    def run() -> Any:
        messages = [{"role": "user", "content": "hi"}]
        return model_call("desk", messages, send, system="Be kind.", tools=[{"name": "look"}])

    kept: list[Any] = []
    view = recorded(lambda: kept.append(run()))
    assert sent == [[{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hi"}]]
    assert kept[0].tool_calls == ({"id": "c1", "name": "look", "arguments": {"order": "A1"}},)
    from rejudge.models.policy import HistoryPolicy, PolicySet

    with replaying(view, policies=PolicySet(models_default=HistoryPolicy())):
        again = run()
    assert len(sent) == 1 and again.raw == body and again.tool_calls == kept[0].tool_calls
    assert (again.input_tokens, again.finish_reason) == (10, "tool_calls")
