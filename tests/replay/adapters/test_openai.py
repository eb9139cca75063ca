"""The adapter of the OpenAI client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
from openai import OpenAI

import rejudge
from rejudge.errors import NoRecordedAnswer, ReplayEnded, UsageError
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.replay import agent_spec, replay_inputs, replay_session
from tests.model_server import ModelServer, Reply, cut_off, says, status
from tests.otel.traces import sessions_of

from .agents import openai_desk, openai_responses_desk, openai_traced
from .desk import served
from .running import OFFLINE, assert_equal, recorded, replayed
from .scenarios import OVERRIDES, Agent, replays_unchanged, replays_with

AGENTS = {
    "chat": Agent(openai_desk.run),
    "responses": Agent(openai_responses_desk.run),
    "responses-streamed": Agent(openai_responses_desk.run, {"streamed": True}),
}


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_conversation_replays_offline_and_equals_its_recording(
    agent: Agent, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = replays_unchanged(agent, monkeypatch)
    names = [node.tool_name for node in baseline.tool_calls]
    assert sorted(names[:2]) == ["get_weather", "get_weather"]
    assert names[2:] == ["convert_temperature", "lookup_order", "get_weather"]
    assert [node.error for node in baseline.tool_calls if node.status == "failed"] == ["no order 77"]
    assert len(baseline.llm_calls) == 10 and all(node.input_tokens for node in baseline.llm_calls)


@pytest.mark.parametrize("agent", ["chat", "responses-streamed"])
@pytest.mark.parametrize("name", OVERRIDES)
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
    spec = agent_spec(entrypoint="openai_desk.py:run", folder=Path(openai_desk.__file__).parent)
    result = replay_session(baseline, spec, policies=OFFLINE)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0), result.reason
    assert result.outputs == baseline.session.outputs


TRACES = {
    "openai_genai/tools2.traces.00.pb": openai_traced.run,
    "openai_genai/stream.traces.jsonl": openai_traced.run_streamed,
    "openai_v2/tools2.traces.jsonl openai_v2/tools2.logs.jsonl": openai_traced.run,
    "openai_tl/tools2.traces.jsonl": openai_traced.run,
    "openai_tl40/stream.traces.00.pb": openai_traced.run_streamed,
    "oi_openai/tools2.traces.00.pb": openai_traced.run,
    "oi_openai_tools/toolerr.traces.00.pb": openai_traced.run,
    "oi_openai_resp/parallel.traces.00.pb": openai_traced.run_responses,
}


@pytest.mark.parametrize("files", TRACES, ids=lambda files: files.split()[0])
def test_an_imported_session_replays_with_what_it_recorded(files: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_URL", "http://127.0.0.1:9/v1")  # nobody is there
    [imported] = sessions_of(*files.split())
    outcome = replayed(TRACES[files], imported.view, inputs=replay_inputs(imported.view))
    assert_equal(outcome, imported.view)


@pytest.fixture
def client() -> Iterator[Any]:
    """Makes clients."""
    with ExitStack() as opened:

        def make(url: str, **options: Any) -> OpenAI:
            made = OpenAI(base_url=url, api_key="test", **options)
            return opened.enter_context(rejudge.adapters.openai.replayable(made))

        yield make


def ask(openai_client: OpenAI, **options: Any) -> Any:
    messages: Any = [{"role": "user", "content": "Hello"}]
    return openai_client.chat.completions.create(model="desk-1", messages=messages, **options)


def test_retries_of_the_client_are_replayed_without_waiting(client: Any) -> None:
    with ModelServer([status(429, "slow down", retry_after=0.01), status(503), says("Hello")]) as server:
        baseline = recorded(lambda _: ask(client(server.base_url)).choices[0].message.content, "x")
    assert [(node.status, node.error_type) for node in baseline.llm_calls] == [
        ("failed", "openai.RateLimitError"),
        ("failed", "openai.InternalServerError"),
        ("completed", None),
    ]
    outcome = replayed(lambda _: ask(client(server.base_url)).choices[0].message.content, baseline)
    assert_equal(outcome, baseline)


@pytest.mark.parametrize(
    ("reply", "error", "stream"),
    [
        (status(400, "bad"), openai.BadRequestError, False),
        (status(429, "slow"), openai.RateLimitError, True),
        (Reply(drop=True), openai.APIConnectionError, False),
        (cut_off(), openai.APIConnectionError, False),
        (Reply(content="one two three four five six", cut=True), openai.APIConnectionError, True),
        (Reply(raw=b"no json"), None, False),
    ],
    ids=["refused", "limited", "dropped", "cut", "cut-stream", "no-json"],
)
def test_a_failure_comes_back_as_it_was(client: Any, reply: Reply, error: Any, stream: bool) -> None:
    def run(_: Any) -> list[Any]:
        said: list[Any] = []
        try:
            answer = ask(client(server.base_url, max_retries=0), stream=stream)
            for chunk in answer if stream else [answer]:
                said.append(chunk if isinstance(chunk, str) else chunk.choices[0].model_dump(exclude_none=True))
        except (openai.OpenAIError, ValueError) as failure:
            said.append([type(failure).__name__, str(failure)])
        return said

    with ModelServer([reply]) as server:
        baseline = recorded(run, "x")
    outcome = replayed(run, baseline)
    assert_equal(outcome, baseline)
    assert error is None or outcome.outputs[-1][0] == error.__name__


def test_a_stream_that_its_reader_leaves_is_replayed_to_there(client: Any) -> None:
    def run(_: Any) -> list[str]:
        said = []
        with ask(client(server.base_url), stream=True) as chunks:
            for chunk in chunks:
                said.append(chunk.choices[0].delta.content)
                if len(said) == 3:
                    break
        return said

    with ModelServer([says("one two three four")]) as server:
        baseline = recorded(run, "x")
    assert_equal(replayed(run, baseline), baseline)
    assert baseline.session.outputs == ["", "one", " two"]


@pytest.mark.parametrize("streamed_first", [True, False], ids=["streamed-then-whole", "whole-then-streamed"])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_a_whole_answer_and_a_streamed_one_answer_for_each_other(client: Any, api: str, streamed_first: bool) -> None:
    def run(streamed: bool) -> list[Any]:
        made = client(server.base_url)
        if api == "responses":
            if not streamed:
                return read_response(made.responses.create(model="desk-1", input="Hello"))
            with made.responses.stream(model="desk-1", input="Hello") as events:
                return read_response(events.get_final_response())
        if not streamed:
            return read_message(ask(made).choices[0].message)
        with made.chat.completions.stream(model="desk-1", messages=[{"role": "user", "content": "Hello"}]) as events:
            return read_message(events.get_final_completion().choices[0].message)

    def read_response(response: Any) -> list[Any]:
        return [response.output_text, [item.call_id for item in response.output if item.type == "function_call"]]

    def read_message(message: Any) -> list[Any]:
        return [message.content, [call.id for call in message.tool_calls or ()]]

    both = Reply(content="Let me see.", tool_calls=({"id": "call_9", "name": "look", "arguments": {"a": 1}},))
    with ModelServer([both]) as server:
        baseline = recorded(lambda _: run(streamed_first), "x")
    outcome = replayed(lambda _: run(not streamed_first), baseline)
    assert_equal(outcome, baseline)
    assert outcome.outputs == ["Let me see.", ["call_9"]]


def test_what_the_adapter_does_not_intercept_ends_a_replay_before_it_is_sent(client: Any) -> None:
    def run(_: Any) -> None:
        client(server.base_url).embeddings.create(model="e", input="x")

    with ModelServer([Reply(raw=b'{"data": [{"embedding": [1.0], "index": 0}], "model": "e"}')]) as server:
        baseline = recorded(run, "x")
        assert len(server.requests) == 1
        outcome = replayed(run, baseline)
        assert len(server.requests) == 1
    assert isinstance(outcome.error, ReplayEnded) and "POST /v1/embeddings" in str(outcome.error)


def test_what_is_let_through_by_name_is_sent_in_a_replay(client: Any) -> None:
    with ModelServer([says("x")]) as server:
        plain = OpenAI(base_url=server.base_url, api_key="test")
        with rejudge.adapters.openai.replayable(plain, let_through=["/models"]) as made:
            baseline = recorded(lambda _: len(made.models.list().data), "x")
            assert replayed(lambda _: len(made.models.list().data), baseline).outputs == 1


def test_a_miss_ends_the_replay_or_is_the_agents_to_cope_with(client: Any) -> None:
    with ModelServer([says("x")]) as server:
        baseline = recorded(lambda _: ask(client(server.base_url)).id, "x")

        def other(_: Any) -> str:
            try:
                return str(ask(client(server.base_url), temperature=1).id)
            except NoRecordedAnswer:
                return "coped"

        assert isinstance(replayed(other, baseline, policies=OFFLINE).error, ReplayEnded) is False
        asked = PolicySet(models_default=HistoryPolicy(on_miss="error_result"))
        second = replayed(lambda _: [other(_), other(_)], baseline, policies=asked)
        assert second.outputs == ["chatcmpl-test", "coped"]
        assert len(server.requests) == 1


def test_a_client_over_another_transport_library_is_refused_before_the_run() -> None:
    with httpx.Client() as other, pytest.raises(UsageError, match=r"cannot stand in front of httpx\."):
        rejudge.adapters.openai.replayable(OpenAI(api_key="test", http_client=other))  # type: ignore[arg-type]


def test_the_clients_own_http_client_still_sends() -> None:
    seen: list[str] = []
    with ModelServer([says("x")]) as server:
        own = httpx2.Client(headers={"x-desk": "7"}, event_hooks={"request": [lambda r: seen.append(str(r.url))]})
        with rejudge.adapters.openai.replayable(
            OpenAI(base_url=server.base_url, api_key="k", http_client=own)
        ) as made:
            ask(made)
        assert server.requests[0].headers["x-desk"] == "7" and len(seen) == 1
    assert own.is_closed
