"""Anything at all may be in a file: nothing crashes, nothing hangs, and what comes out can be stored."""

from __future__ import annotations

import gzip
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rejudge.otel import Batch, Refusal, assemble
from tests.otel.traces import ANSWERS, CHAT, DATA, any_value, otlp, spans_in, wire_span

QUICK = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
SAMPLES = sorted({answer["files"][0] for answer in ANSWERS})
BYTES = {name: (DATA / name).read_bytes() for name in SAMPLES}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


def survives(body: bytes) -> tuple[Batch, list[Refusal]]:
    """What is read from some bytes, after making sure that sessions of it can be stored."""
    refused: list[Refusal] = []
    batch = spans_in(body, refused)
    for recording in assemble(batch.spans, batch.logs):
        for record in (recording.view.session, *recording.view.nodes):
            record.decoded().model_dump_json().encode()
            assert "\0" not in str(record)
    return batch, refused


@QUICK
@given(st.binary(max_size=400))
def test_any_bytes(body: bytes) -> None:
    batch, refused = survives(body)

    assert batch or refused


@QUICK
@given(st.data(), st.sampled_from(SAMPLES))
def test_real_files_with_bytes_changed(data: st.DataObject, name: str) -> None:
    body = bytearray(BYTES[name][:60_000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))

    survives(bytes(body))


@QUICK
@given(st.integers(1, 59_999), st.sampled_from(SAMPLES))
def test_real_files_cut_anywhere(length: int, name: str) -> None:
    whole = BYTES[name]
    cut = whole[: length % len(whole)]

    survives(cut)
    survives(gzip.compress(whole)[: length % 1_000])


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where something can be replaced in a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = [path] if path else []
    for key, item in items:
        found += places_in(item, (*path, key))
    return found


DOCUMENTS: dict[str, Any] = {}
for _name, _body in BYTES.items():
    if _name.endswith((".json", ".jsonl")):
        try:
            DOCUMENTS[_name] = orjson.loads(_body.split(b"\n")[0] if _name.endswith("l") else _body)
        except orjson.JSONDecodeError:
            continue
PLACES = {name: places_in(document)[:3_000] for name, document in DOCUMENTS.items()}


@settings(QUICK, max_examples=250)
@given(st.data(), st.sampled_from(sorted(DOCUMENTS)), JSON)
def test_real_documents_with_a_value_replaced(data: st.DataObject, name: str, value: Any) -> None:
    document = orjson.loads(orjson.dumps(DOCUMENTS[name]))
    *path, last = data.draw(st.sampled_from(PLACES[name]))
    target = document
    for key in path:
        target = target[key]
    target[last] = value

    survives(orjson.dumps(document) if storable(document) else b"")


def storable(document: Any) -> bool:
    try:
        orjson.dumps(document)
    except TypeError:
        return False
    return True


KEYS = sorted(
    {
        "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.usage.input_tokens",
        "gen_ai.tool.call.arguments", "gen_ai.tool.call.result", "gen_ai.tool.definitions", "gen_ai.completion",
        "gen_ai.response.finish_reasons", "gen_ai.agent.name", "gen_ai.request.model", "gen_ai.prompt",
        "gen_ai.system_instructions",
        "gen_ai.prompt.0.role", "gen_ai.prompt.0.content", "gen_ai.prompt.0.tool_calls.0.name", "llm.request.type",
        "openinference.span.kind", "input.value", "output.value", "llm.input_messages.0.message.role", "metadata",
        "llm.input_messages.0.message.tool_calls.0.tool_call.function.arguments", "llm.invocation_parameters",
        "traceloop.span.kind", "traceloop.entity.input", "traceloop.entity.output", "langfuse.observation.type",
        "langfuse.observation.input", "langfuse.observation.output", "langfuse.observation.usage_details",
        "langfuse.observation.model.name", "langsmith.span.kind", "mlflow.spanType", "mlflow.spanInputs",
        "mlflow.spanOutputs", "mlflow.chat.tokenUsage", "ai.operationId", "ai.prompt", "ai.prompt.messages",
        "ai.response.toolCalls", "ai.toolCall.args", "events", "all_messages_events", "request_data", "response_data",
        "agent_name", "tool_arguments", "model_request_parameters", "logfire.span_type",
        "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response", "gcp.vertex.agent.tool_call_args",
        "haystack.component.type", "haystack.component.input", "haystack.component.output",
        "haystack.agent.step.llm.output", "session.id",
        "span.type", "tool_name", "call_id", "input_tokens", "kitaru.node", "error.type", "user.id", "llm.model_name",
    }
)  # fmt: skip
WORDS = st.sampled_from(
    ["chat", "LLM", "TOOL", "tool", "generation", "CHAT_MODEL", '"TOOL"', "llm", "ai.toolCall", "ToolInvoker", "log",
     "ai.generateText.doGenerate", "OpenAIChatGenerator", "agent", "llm_request", "workflow", "execute_tool"]
)  # fmt: skip


@settings(QUICK, max_examples=400)
@given(
    st.dictionaries(
        st.sampled_from(KEYS), WORDS | JSON | JSON.map(str) | JSON.map(lambda v: orjson_text(v)), max_size=8
    )
)
def test_any_values_under_the_names_of_the_conventions(attributes: dict[str, Any]) -> None:
    spans = [wire_span(1, attributes=CHAT), {**wire_span(2, parent=1), "attributes": wired(attributes)}]
    document = otlp(*spans)

    survives(orjson.dumps(document) if storable(document) else b"")


def orjson_text(value: Any) -> str:
    return orjson.dumps(value).decode() if storable(value) else str(value)


def wired(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in attributes.items() if value is not None]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_refusal_names_its_file_and_place(name: str) -> None:
    body = BYTES[name]
    refused: list[Refusal] = []

    spans_in(body[: len(body) * 3 // 4], refused)

    assert all(refusal.path == "body" and refusal.reason for refusal in refused)
