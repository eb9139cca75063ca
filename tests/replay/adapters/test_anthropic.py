"""The adapter of the Anthropic client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic, AnthropicVertex

import rejudge
from rejudge.errors import ReplayEnded, UsageError
from rejudge.replay import agent_spec, replay_inputs, replay_session
from tests.model_server import ModelServer, Reply, cut_off, status
from tests.otel.traces import sessions_of

from .agents import anthropic_desk, anthropic_traced
from .desk import served
from .running import OFFLINE, assert_equal, recorded, replayed
from .scenarios import OVERRIDES, Agent, replays_unchanged, replays_with

AGENTS = {
    "whole": Agent(anthropic_desk.run),
    "streamed": Agent(anthropic_desk.run, {"streamed": True}),
}


@pytest.mark.parametrize("agent", AGENTS.values(), ids=AGENTS)
def test_a_conversation_replays_offline_and_equals_its_recording(
    agent: Agent, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = replays_unchanged(agent, monkeypatch)
    assert len(baseline.llm_calls) == 10 and all(node.input_tokens for node in baseline.llm_calls)
    assert {node.provider for node in baseline.llm_calls} == {"anthropic"}


def test_a_client_that_blocks_replays_too(desk_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent(anthropic_desk.run, {"blocking": True})
    with served(agent.desk(), monkeypatch):
        baseline = recorded(agent.run, agent.inputs)
    assert_equal(replayed(agent.run, baseline), baseline)


@pytest.mark.parametrize(
    ("name", "agent"), [*((name, "whole") for name in OVERRIDES), ("prompt", "streamed"), ("params", "streamed")]
)
def test_an_override_changes_what_follows_from_it_and_nothing_else(
    name: str, agent: str, desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replays_with(name, AGENTS[agent], monkeypatch)


def test_a_replay_in_a_process_of_its_own_equals_the_recording(
    desk_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = AGENTS["streamed"]
    with served(agent.desk(), monkeypatch):
        baseline = recorded(agent.run, agent.inputs)
    spec = agent_spec(entrypoint="anthropic_desk.py:run", folder=Path(anthropic_desk.__file__).parent)
    result = replay_session(baseline, spec, policies=OFFLINE)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0), result.reason
    assert result.outputs == baseline.session.outputs


TRACES = {
    "logfire_anthropic/tools2.traces.jsonl": anthropic_traced.run,
    "anthropic_tl40/tools2.traces.00.pb": anthropic_traced.run_streamed,
}


@pytest.mark.filterwarnings("ignore:The model 'claude-sonnet-4-5' is deprecated:DeprecationWarning")
@pytest.mark.parametrize("file", TRACES)
def test_an_imported_session_replays_with_what_it_recorded(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESK_URL", "http://127.0.0.1:9/v1")  # nobody is there
    [imported] = sessions_of(file)
    outcome = replayed(TRACES[file], imported.view, inputs=replay_inputs(imported.view))
    assert_equal(outcome, imported.view)


@pytest.fixture
def client() -> Iterator[Any]:
    """Makes clients."""
    with ExitStack() as opened:

        def make(url: str, **options: Any) -> Anthropic:
            made = Anthropic(base_url=url.removesuffix("/v1"), api_key="test", **options)
            return opened.enter_context(rejudge.adapters.anthropic.replayable(made))

        yield make


def ask(made: Anthropic, **options: Any) -> Any:
    asked: Any = [{"role": "user", "content": "Hello"}]
    return made.messages.create(model="desk-1", max_tokens=10, messages=asked, **options)


@pytest.mark.parametrize(
    ("reply", "error", "stream"),
    [
        (status(400, "bad"), anthropic.BadRequestError, False),
        (status(429, "slow"), anthropic.RateLimitError, True),
        (Reply(drop=True), anthropic.APIConnectionError, False),
        (cut_off(), anthropic.APIConnectionError, False),
    ],
    ids=["refused", "limited", "dropped", "cut"],
)
def test_a_failure_comes_back_as_it_was(client: Any, reply: Reply, error: Any, stream: bool) -> None:
    def run(_: Any) -> Any:
        try:
            return ask(client(server.base_url, max_retries=0), stream=stream)
        except anthropic.AnthropicError as failure:
            return [type(failure).__name__, str(failure)]

    with ModelServer([reply]) as server:
        baseline = recorded(run, "x")
    outcome = replayed(run, baseline)
    assert_equal(outcome, baseline)
    assert outcome.outputs[0] == error.__name__


@pytest.mark.parametrize("streamed_first", [True, False], ids=["streamed-then-whole", "whole-then-streamed"])
def test_a_whole_answer_and_a_streamed_one_answer_for_each_other(client: Any, streamed_first: bool) -> None:
    def run(streamed: bool) -> list[Any]:
        made = client(server.base_url)
        if streamed:
            asked: Any = [{"role": "user", "content": "Hello"}]
            with made.messages.stream(model="desk-1", max_tokens=10, messages=asked) as stream:
                message = stream.get_final_message()
        else:
            message = ask(made)
        return [block.model_dump(exclude_none=True) for block in message.content]

    both = Reply(content="Let me see.", tool_calls=({"id": "toolu_9", "name": "look", "arguments": {"a": 1}},))
    with ModelServer([both]) as server:
        baseline = recorded(lambda _: run(streamed_first), "x")
    outcome = replayed(lambda _: run(not streamed_first), baseline)
    assert outcome.error is None and outcome.fidelity.ratio == 1.0
    assert [block["type"] for block in outcome.outputs] == ["text", "tool_use"]
    assert outcome.outputs[1]["input"] == {"a": 1} and outcome.outputs[1]["id"] == "toolu_9"


def test_what_the_adapter_does_not_intercept_ends_a_replay_before_it_is_sent(client: Any) -> None:
    def run(_: Any) -> None:
        asked: Any = [{"role": "user", "content": "Hello"}]
        client(server.base_url).messages.count_tokens(model="desk-1", messages=asked)

    with ModelServer([Reply(raw=b'{"input_tokens": 3}')]) as server:
        baseline = recorded(run, "x")
        outcome = replayed(run, baseline)
        assert len(server.requests) == 1
    assert isinstance(outcome.error, ReplayEnded) and "count_tokens" in str(outcome.error)


def test_clients_of_other_platforms_are_refused_before_the_run() -> None:
    with (
        AnthropicVertex(region="x", project_id="y", access_token="z") as vertex,
        pytest.raises(UsageError, match="AnthropicVertex"),
    ):
        rejudge.adapters.anthropic.replayable(vertex)  # type: ignore[type-var]
