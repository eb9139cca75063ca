"""What the dialects mean: more frameworks, payloads in one schema, calls reported twice, agents, failures."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from rejudge.models.session import Node, SessionView
from rejudge.otel import Batch, LogRecord, assemble, read
from rejudge.otel.conventions import CONVENTIONS
from rejudge.otel.conventions.messages import messages_of, output_messages_of
from tests.otel.traces import ANSWERS, CHAT, DATA, joined, otlp, sessions_of, spans_in, spans_of, wire_span

MORE = DATA.parent / "otlp_more"
BOTH = ("get_weather", "convert_temperature")
ANSWER = "It is 18.5 °C (65.3 °F) in Paris with light rain."


@pytest.mark.parametrize(
    ("name", "framework", "calls", "tools", "tokens", "agents"),
    [
        ("adk1", "google-adk", 3, BOTH, (414, 88), ("weather_desk",)),
        ("agno", "agno", 3, BOTH, (414, 88), ("weather_desk",)),
        ("agno_tl", "agno", 0, BOTH, (414, 88), ("weather_desk",)),
        ("crew_tl", "crewai", 0, (), (None, None), ("Weather Desk",)),
        ("dspy", "dspy", 1, (), (None, None), ()),
        ("llama_tl", "llama-index", 0, BOTH, (None, None), ()),
        ("logfire_agents", "openai-agents", 3, BOTH, (414, 88), ("Weather Desk",)),
        ("maf", "agent-framework", 3, BOTH, (414, 88), ("weather_desk",)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_more_frameworks(
    name: str, framework: str, calls: int, tools: tuple[str, ...], tokens: tuple[int | None, int | None], agents: Any
) -> None:
    batch = joined(read([MORE / f"{name}.pb"], refuse=lambda refusal: pytest.fail(str(refusal))))

    (recording,) = assemble(batch.spans, batch.logs)

    session = recording.view.session
    assert (session.framework, session.llm_call_count, session.tool_names) == (framework, calls, tools)
    assert (session.input_tokens, session.output_tokens) == tokens
    assert (session.agents, session.status) == (agents, "completed")


def test_a_gateway_makes_a_session_of_each_call_and_keeps_what_the_model_asked_for() -> None:
    batch = joined(read([MORE / "litellm.pb"], refuse=lambda refusal: pytest.fail(str(refusal))))

    recordings = assemble(batch.spans)

    asked = [node.tool_name for recording in recordings for node in recording.view.nodes if node.inferred]
    assert (len(recordings), asked) == (3, list(BOTH))
    assert all(recording.view.session.cost_status == "recorded" for recording in recordings)


TOOLS2 = [answer for answer in ANSWERS if answer["scenario"] == "tools2" and "get_weather" in answer["tool_names"]]
WITHOUT_ARGUMENTS = {"lc_genai", "oai_agents_genai", "autogen", "adk", "derived"}


@pytest.mark.parametrize("answer", TOOLS2, ids=lambda answer: answer["run"] + answer["files"][0][-9:])
def test_arguments_of_tools_are_objects(answer: dict[str, Any]) -> None:
    if answer["producer"] in WITHOUT_ARGUMENTS:
        pytest.skip("records no arguments")
    nodes = [node for recording in sessions_of(*answer["files"]) for node in recording.view.tool_calls]

    weather = next(node for node in nodes if str(node.tool_name).endswith("get_weather"))

    if answer["producer"] == "lc_oi":
        assert weather.inputs in ({"city": "Paris"}, "Paris")  # LangChain records a lone argument bare
    else:
        assert weather.inputs == {"city": "Paris"}


RAW = [
    "openai_genai__tools2",
    "openai_tl__tools2",
    "openai_tl40__tools2",
    "oi_openai__tools2",
    "logfire_openai__tools2",
]


@pytest.mark.parametrize("run", [*RAW, "openai_v2__tools2", "anthropic_tl40__tools2", "logfire_anthropic__tools2"])
def test_raw_clients_have_inferred_tool_calls_that_are_not_counted(run: str) -> None:
    files = next(answer["files"] for answer in ANSWERS if answer["run"] == run)

    (recording,) = sessions_of(*files)

    inferred = [node for node in recording.view.tool_calls if node.inferred]
    assert [(node.tool_name, node.inputs) for node in inferred] == [
        ("get_weather", {"city": "Paris"}),
        ("convert_temperature", {"celsius": 18.5}),
    ]
    assert [node.outputs for node in inferred] == ["18.5 °C, light rain in Paris", "65.3 °F"]
    assert recording.view.session.tool_call_count == 0
    assert [node.index for node in recording.view.nodes] == list(range(len(recording.view.nodes)))


SYSTEM = "You are a weather desk assistant. Be brief."
QUESTION = "What is the weather in Paris, also in Fahrenheit?"
SAYING = [
    answer
    for answer in ANSWERS
    if answer["scenario"] == "tools2"
    and answer["llm_calls"] == 3
    and answer["sessions"] == 1
    and answer["producer"] not in ("lc_genai", "adk", "claude_code", "gemini_cli", "adk_exp", "derived")
]


@pytest.mark.parametrize("answer", SAYING, ids=lambda answer: answer["run"] + answer["files"][0][-9:])
def test_messages_are_in_one_schema_whoever_wrote_them(answer: dict[str, Any]) -> None:
    (recording,) = sessions_of(*answer["files"])

    last = recording.view.llm_calls[-1]

    messages = last.inputs["messages"]
    said = [part for message in messages for part in message["parts"]]
    texts = [part["content"] for part in said if part["type"] == "text"]
    asked = [part["name"].rpartition("-")[2] for part in said if part["type"] == "tool_call"]
    answered = [part["response"] for part in said if part["type"] == "tool_call_response"]
    assert any(QUESTION in text for text in texts)
    if answer["producer"] not in ("smol_oi", "oai_agents_v2"):  # results are texts, or are not recorded
        assert asked == list(BOTH)
        assert len(answered) == 2
    assert {message["role"] for message in messages} <= {"system", "user", "assistant", "tool", "developer"}
    assert recording.view.session.inputs == QUESTION or answer["producer"] == "mlflow_openai"
    assert str(recording.view.session.outputs).strip() == ANSWER


def view_of(*spans: dict[str, Any], scope: str = "test") -> SessionView:
    (recording,) = assemble(spans_in(orjson.dumps(otlp(*spans, scope=scope))).spans)
    return recording.view


AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "desk"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
COUNTED = {**CHAT, "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 2}
LONG = {"startTimeUnixNano": "1790000000000000000", "endTimeUnixNano": "1790000009000000000"}


def test_a_call_inside_a_call_is_one_call() -> None:
    outer = wire_span(1, attributes=COUNTED, **LONG)
    inner = wire_span(2, parent=1, attributes={**COUNTED, "gen_ai.response.id": "r-1"})

    view = view_of(outer, inner)

    assert (view.session.llm_call_count, view.session.input_tokens) == (1, 10)
    assert view.llm_calls[0].response_id == "r-1"


def test_a_call_below_a_tool_below_a_call_is_another_call() -> None:
    view = view_of(
        wire_span(1, attributes=COUNTED, **LONG),
        wire_span(2, parent=1, attributes=TOOL, **LONG),
        wire_span(3, parent=2, attributes=COUNTED),
    )

    assert (view.session.llm_call_count, view.session.input_tokens) == (2, 20)


def test_two_reports_of_one_answer_are_one_call_and_a_repeated_answer_is_two() -> None:
    answer = {**COUNTED, "gen_ai.response.id": "r-1"}
    at_once = view_of(
        wire_span(1, attributes=AGENT, **LONG),
        wire_span(2, parent=1, attributes=answer, **LONG),
        wire_span(3, parent=1, attributes=answer),
    )
    from_a_cache = view_of(
        wire_span(1, attributes=AGENT, **LONG),
        wire_span(2, parent=1, attributes=answer),
        wire_span(3, parent=1, attributes=answer),
    )

    assert (at_once.session.llm_call_count, at_once.session.input_tokens) == (1, 10)
    assert from_a_cache.session.llm_call_count == 2


def test_an_agent_s_sum_is_not_counted_beside_its_calls() -> None:
    sums = {**AGENT, "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 6, "gen_ai.request.model": "m"}

    beside = view_of(wire_span(1, attributes=sums, **LONG), wire_span(2, parent=1, attributes=COUNTED))
    alone = view_of(wire_span(1, attributes=sums, **LONG), wire_span(2, parent=1, attributes=TOOL))

    assert (beside.session.input_tokens, alone.session.input_tokens) == (10, 30)


def test_an_agent_under_an_agent_is_a_subagent_call_and_a_wrapper_is_not() -> None:
    other = {**AGENT, "gen_ai.agent.name": "expert"}

    view = view_of(
        wire_span(1, attributes=AGENT, **LONG),
        wire_span(2, parent=1, attributes=AGENT, **LONG),
        wire_span(3, parent=2, attributes=TOOL, **LONG),
        wire_span(4, parent=3, attributes=other, **LONG),
        wire_span(5, parent=4, attributes=CHAT),
    )

    assert [node.node_type for node in view.nodes] == ["span", "span", "tool_call", "subagent_call", "llm_call"]
    assert [node.agent_name for node in view.nodes] == ["desk", "desk", "desk", "expert", "expert"]
    assert view.session.agents == ("desk", "expert")


def test_a_handoff_beside_the_first_agent_is_a_subagent_call() -> None:
    (recording,) = sessions_of("oai_agents_oi/handoff.traces.jsonl")

    agents = [node for node in recording.view.nodes if node.node_type == "subagent_call"]

    assert [node.agent_name for node in agents] == ["Spanish Agent"]


def failed(attributes: dict[str, Any], **fields: Any) -> Node:
    return view_of(wire_span(1, attributes={**TOOL, **attributes}, **fields)).nodes[0]


EXCEPTION = {
    "name": "exception",
    "timeUnixNano": "1",
    "attributes": [
        {"key": "exception.type", "value": {"stringValue": "ValueError"}},
        {"key": "exception.message", "value": {"stringValue": "no such order"}},
    ],
}


@pytest.mark.parametrize(
    ("attributes", "fields", "error"),
    [
        ({}, {"status": {"code": 2, "message": "broken"}}, "broken"),
        ({}, {"status": {"code": 2}, "events": [EXCEPTION]}, "no such order"),
        ({}, {"events": [EXCEPTION]}, "no such order"),
        ({"error.type": "<class 'TimeoutError'>"}, {}, "<class 'TimeoutError'>"),
        ({"http.response.status_code": 503}, {}, "failed, without a message"),
        ({}, {}, None),
        ({}, {"status": {"code": 1}, "events": [EXCEPTION]}, None),
    ],
    ids=["status", "status and exception", "exception alone", "type alone", "HTTP", "nothing", "recovered"],
)
def test_a_failure_is_told_from_what_the_span_says(attributes: Any, fields: Any, error: str | None) -> None:
    node = failed(attributes, **fields)

    assert (node.status, node.error) == ("failed" if error else "completed", error)


def test_a_session_fails_only_with_its_run() -> None:
    bad_tool = wire_span(2, parent=1, attributes=TOOL, status={"code": 2, "message": "broken"})

    recovered = view_of(wire_span(1, attributes=AGENT, **LONG), bad_tool).session
    lost = view_of(wire_span(1, attributes=AGENT, **LONG, status={"code": 2, "message": "gave up"}), bad_tool).session

    assert (recovered.status, recovered.tool_error_count) == ("completed", 1)
    assert (lost.status, lost.error) == ("failed", "gave up")


@pytest.mark.parametrize("run", ["claude_code__tools2", "claude_code__toolerr", "gemini_cli__tools2"])
def test_log_records_alone_make_the_same_session(run: str) -> None:
    answer = next(answer for answer in ANSWERS if answer["run"] == run)

    (recording,) = sessions_of(*(name for name in answer["files"] if ".logs." in name))

    session = recording.view.session
    assert (session.llm_call_count, session.tool_error_count) == (answer["llm_calls"], answer["tool_errors"])
    assert (session.input_tokens, session.output_tokens) == (answer["input_tokens"], answer["output_tokens"])
    assert sorted(session.tool_names) == sorted(answer["tool_names"])
    assert session.external_id in answer["session_ids"] or session.external_id
    assert session.outputs and session.inputs


def codex_record(number: int, **attributes: Any) -> LogRecord:
    return LogRecord(
        "", "", "", 1_790_000_000_000_000_000 + number, None, attributes, {"service.name": "codex"}, "codex_otel"
    )


def test_codex_records_alone_make_a_session() -> None:
    common = {"conversation.id": "0199-c", "model": "gpt-5"}
    counted = {"input_token_count": "120", "output_token_count": "30", "cached_token_count": "20"}
    records = [
        codex_record(1, **{"event.name": "codex.user_prompt", "prompt": "list files", **common}),
        codex_record(2, **{"event.name": "codex.sse_event", "event.kind": "response.output_text.delta", **common}),
        codex_record(3, **{"event.name": "codex.sse_event", "event.kind": "response.completed", **counted, **common}),
        codex_record(
            4,
            **{
                "event.name": "codex.tool_result",
                "tool_name": "shell",
                "call_id": "c1",
                "arguments": '{"command":["ls"]}',
                "output": "README.md",
                "duration_ms": "12",
                "success": "true",
                **common,
            },
        ),
    ]

    (recording,) = assemble([], records)

    session = recording.view.session
    assert (session.external_id, session.inputs, session.framework) == ("0199-c", "list files", "codex")
    assert (session.input_tokens, session.cached_input_tokens, session.tool_names) == (120, 20, ("shell",))
    assert recording.view.tool_calls[0].inputs == {"command": ["ls"]}


def test_the_thread_of_the_operating_system_is_no_session() -> None:
    spans = [wire_span(1, trace=trace, attributes={**CHAT, "thread.id": 7}) for trace in (1, 2)]

    recordings = assemble(spans_in(orjson.dumps(otlp(*spans))).spans)

    assert len(recordings) == 2


def test_messages_in_log_records_are_joined_to_their_span() -> None:
    files = next(answer["files"] for answer in ANSWERS if answer["run"] == "openai_v2__tools2")
    batch = spans_of(*files)

    (without,) = assemble(batch.spans)
    (recording,) = assemble(batch.spans, batch.logs)

    assert without.view.llm_calls[0].incomplete == "not captured"
    assert recording.view.llm_calls[0].incomplete is None
    assert [message["role"] for message in recording.view.llm_calls[0].inputs["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("recorded", "role", "part"),
    [
        ("hello", "user", {"type": "text", "content": "hello"}),
        ({"role": "user", "content": "hello"}, "user", {"type": "text", "content": "hello"}),
        (
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            "user",
            {"type": "text", "content": "hello"},
        ),
        (["human", "hello"], "user", {"type": "text", "content": "hello"}),
        ({"type": "human", "data": {"content": "hello"}}, "user", {"type": "text", "content": "hello"}),
        ({"role": "model", "parts": [{"text": "hello"}]}, "assistant", {"type": "text", "content": "hello"}),
        (
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}],
            },
            "assistant",
            {"type": "tool_call", "id": "1", "name": "f", "arguments": {}},
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
            "assistant",
            {"type": "tool_call", "id": "1", "name": "f", "arguments": {"a": 1}},
        ),
        (
            {"role": "tool", "tool_call_id": "1", "content": '{"ok": true}'},
            "tool",
            {"type": "tool_call_response", "id": "1", "response": {"ok": True}},
        ),
        (
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "fine"}]}}]},
            "user",
            {"type": "tool_call_response", "id": "1", "response": "fine"},
        ),
        (
            {"type": "function_call_output", "call_id": "1", "output": "fine"},
            "tool",
            {"type": "tool_call_response", "id": "1", "response": "fine"},
        ),
        (
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hmm"}]},
            "assistant",
            {"type": "reasoning", "content": "hmm"},
        ),
    ],
    ids=[
        "text",
        "openai",
        "parts",
        "pair",
        "langchain",
        "gemini",
        "call",
        "anthropic",
        "tool",
        "bedrock",
        "item",
        "thought",
    ],
)
def test_a_message_of_any_shape_becomes_one_of_the_schema(recorded: Any, role: str, part: dict[str, Any]) -> None:
    (message,) = messages_of([recorded] if not isinstance(recorded, list) else recorded)

    assert (message["role"], message["parts"]) == (role, [part])


@pytest.mark.parametrize(
    "response",
    [
        {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "stop_reason": "stop"},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]},
        {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]}]},
        {"generations": [[{"text": "hi", "generation_info": {"finish_reason": "stop"}}]]},
        {"replies": [{"role": "assistant", "content": [{"text": "hi"}]}]},
    ],
    ids=["openai", "anthropic", "gemini", "responses", "langchain", "haystack"],
)
def test_an_answer_of_any_vendor_becomes_messages(response: dict[str, Any]) -> None:
    (message,) = output_messages_of(orjson.dumps(response).decode())

    assert (message["role"], message["parts"]) == ("assistant", [{"type": "text", "content": "hi"}])


def test_names_of_conventions_are_their_own() -> None:
    names = [convention.name for convention in CONVENTIONS]

    assert len(set(names)) == len(names)
    assert isinstance(Batch(), Batch)
