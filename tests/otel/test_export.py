"""Sessions on their way out, and back in again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rejudge.models.session import Node, Session, SessionView
from rejudge.otel import Refusal, assemble, read, read_bytes
from rejudge.otel.export import line_of, traces_of
from rejudge.otel.export.values import any_value
from rejudge.otel.text import clean_text

DATA = Path(__file__).parents[1] / "data" / "otlp"
RUNS = ("adk", "ai_sdk6", "claude_code", "haystack", "lc_oi", "openai_v2", "pyai2", "strands", "sk", "oai_agents_oi")

# What Kitaru's importer takes, and nothing else (kitaru 0.27, kitaru-jsonl-importer 0.2.0).
SESSION_FIELDS = {
    *("status", "name", "input_text_selector", "output_text_selector", "inputs", "outputs", "error", "started_at"),
    *("ended_at", "external_id", "metadata", "framework", "nodes"),
}
NODE_FIELDS = {
    *("index", "parent_index", "links", "external_id", "trace_id", "node_type", "name", "status", "error"),
    *("started_at", "ended_at", "input_text_selector", "output_text_selector", "system_prompt_selector"),
    *("reasoning_selectors", "inputs", "outputs", "requested_model", "model", "model_provider", "tokens", "cost"),
    *("model_params", "tool_name", "subagent_id", "attributes", "metadata"),
}


def sessions_in(folder: str) -> list[SessionView]:
    refused: list[Refusal] = []
    return _assembled(read([DATA / folder], refuse=refused.append))


def sessions_of(text: bytes) -> list[SessionView]:
    refused: list[Refusal] = []
    found = _assembled(read_bytes(text, refuse=refused.append))
    assert refused == []
    return found


def _assembled(batches: Any) -> list[SessionView]:
    spans, records = [], []
    for batch in batches:
        spans += batch.spans
        records += batch.logs
    views = [one.view for one in assemble(spans, records)]
    return sorted(views, key=lambda view: (view.session.source, view.session.external_id))


def facts_of(view: SessionView) -> dict[str, Any]:
    """Everything a session says; but not the id of its conversation where only our export repeats it."""
    session = {**view.session.decoded().__dict__, "digest": ""}
    nodes = [dict(node.decoded().__dict__) for node in view.nodes]
    for node in nodes:
        rest = {key: value for key, value in (node["attributes"] or {}).items() if key != "gen_ai.conversation.id"}
        node["attributes"] = rest or None
    return {"session": session, "nodes": nodes}


@pytest.mark.parametrize("folder", RUNS)
def test_kitaru_lines_are_read_back_as_the_sessions_they_were(folder: str) -> None:
    before = sessions_in(folder)
    after = sessions_of(b"".join(line_of(view) for view in before))
    assert len(before) > 0
    assert [facts_of(view) for view in after] == [facts_of(view) for view in before]


@pytest.mark.parametrize("folder", RUNS)
def test_otlp_traces_are_read_back_as_the_sessions_they_were(folder: str) -> None:
    before = sessions_in(folder)
    after = sessions_of(b"\n".join(orjson.dumps(traces_of(view)) for view in before))
    assert [facts_of(view) for view in after] == [facts_of(view) for view in before]


@pytest.mark.parametrize("folder", RUNS)
def test_kitaru_records_have_the_fields_of_its_contract(folder: str) -> None:
    for view in sessions_in(folder):
        record = json.loads(line_of(view))
        indexes = [node["index"] for node in record["nodes"]]
        assert set(record) == SESSION_FIELDS
        assert all(set(node) == NODE_FIELDS for node in record["nodes"])
        assert indexes == list(range(len(indexes)))
        assert all(node["parent_index"] is None or node["parent_index"] in indexes for node in record["nodes"])
        for node in record["nodes"]:
            for name, payload in (("input", "inputs"), ("output", "outputs"), ("system_prompt", "inputs")):
                selector = node[f"{name}_{'text_' if name != 'system_prompt' else ''}selector"]
                assert selector is None or isinstance(pointed_at(node[payload], selector), str)


def pointed_at(value: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


@given(st.text(st.characters(exclude_categories=())), st.text(st.characters(exclude_categories=())))
def test_a_kitaru_line_is_one_line_to_everyone(said: str, answered: str) -> None:
    node = Node(id="a", index=0, node_type="tool_call", name=said, inputs={said: answered}, outputs=answered)
    line = line_of(SessionView(Session(external_id="x", inputs=said, outputs=answered), [node]))
    assert line.isascii()
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line)["outputs"] == clean_text(answered)


def test_a_genuine_kitaru_record_is_read() -> None:
    record = {
        "status": "failed",
        "name": "Weather request",
        "inputs": {"question": "What is the weather in Delft?"},
        "outputs": {"answer": "Delft is rainy and 18 C."},
        "error": "too wet",
        "started_at": "2026-07-22T10:00:00Z",
        "ended_at": "2026-07-22T10:00:02Z",
        "external_id": "weather-session-42",
        "metadata": {"environment": "production"},
        "framework": "pydantic-ai",
        "nodes": [
            {
                "index": 0,
                "parent_index": None,
                "links": [],
                "external_id": "model-call-42",
                "trace_id": "trace-42",
                "node_type": "llm_call",
                "name": "answer weather question",
                "status": "completed",
                "started_at": "2026-07-22T10:00:00Z",
                "ended_at": "2026-07-22T10:00:01Z",
                "inputs": [{"role": "user", "content": "What is the weather in Delft?"}],
                "outputs": [{"role": "assistant", "content": "Delft is rainy and 18 C."}],
                "model": "gpt-4o",
                "model_provider": "openai",
                "tokens": {"input_tokens": 12, "output_tokens": 7, "cached_input_tokens": 2},
                "cost": "0.0003",
                "attributes": {},
                "metadata": {},
            },
            {
                "index": 1,
                "parent_index": 0,
                "links": [{"external_id": "model-call-42", "kind": "follows"}],
                "external_id": "tool-1",
                "node_type": "tool_call",
                "name": "look up",
                "tool_name": "look_up",
                "status": "failed",
                "error": "no such city",
                "started_at": "2026-07-22T10:00:01Z",
                "ended_at": "2026-07-22T10:00:02Z",
                "inputs": {"city": "Delft"},
                "outputs": None,
                "attributes": {},
            },
        ],
    }
    (view,) = sessions_of(json.dumps(record).encode())
    session, (call, tool) = view.session, view.nodes
    assert (session.external_id, session.status, session.error) == ("weather-session-42", "failed", "too wet")
    assert (session.inputs, session.outputs) == (record["inputs"], record["outputs"])
    assert (call.model, call.provider, call.input_tokens, str(call.cost)) == ("gpt-4o", "openai", 12, "0.0003")
    assert (tool.tool_name, tool.inputs, tool.status, tool.error) == (
        "look_up",
        {"city": "Delft"},
        "failed",
        "no such city",
    )
    assert (tool.parent_id, tool.link_ids) == ("model-call-42", ("model-call-42",))


HOSTILE = {
    "status": {"status": "gone"},
    "time": {"started_at": 5},
    "identity": {"external_id": ["x"]},
    "node type": {"nodes": [{"index": 0, "external_id": "a", "node_type": "bomb"}]},
    "tokens": {"nodes": [{"index": 0, "external_id": "a", "node_type": "span", "tokens": {"input_tokens": "many"}}]},
    "money": {"nodes": [{"index": 0, "external_id": "a", "node_type": "span", "cost": {}}]},
    "extras": {"metadata": {"rejudge": {"source": 5}}},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_record_that_only_claims_to_be_ours_is_refused(case: str) -> None:
    node = {"index": 0, "external_id": "a", "node_type": "llm_call", "name": "n"}
    record = {
        "external_id": "x",
        "status": "completed",
        "metadata": {"rejudge": {}},
        "nodes": [node],
        **HOSTILE[case],
    }
    refused: list[Refusal] = []
    assert [batch for batch in read_bytes(json.dumps(record).encode(), refuse=refused.append) if len(batch)] == []
    assert len(refused) == 1


STATED = {
    "no object": "x",
    "wrong types": {"status": "exploded", "id": "1", "digest": "d", "framework": 5, "metadata": []},
    "unknown facts": {"llm_call_count": 10**9, "agent": "other"},
}


@pytest.mark.parametrize("case", STATED)
def test_what_a_trace_states_of_its_session_is_taken_with_care(case: str) -> None:
    document = traces_of(SessionView(Session(external_id="x"), [Node(id="1" * 16, index=0, node_type="tool_call")]))
    (stated,) = (
        one for one in document["resourceSpans"][0]["resource"]["attributes"] if one["key"] == "rejudge.stated"
    )
    stated["value"] = any_value(STATED[case])
    (view,) = sessions_of(orjson.dumps(document))
    session = view.session
    assert (session.status, session.id, session.agent, session.llm_call_count) == ("completed", "", "", 0)
    assert len(session.digest) == 64


def test_an_exported_trace_is_valid_otlp() -> None:
    from google.protobuf.json_format import ParseDict

    for view in sessions_in("adk"):
        request = ParseDict(without_ids(traces_of(view)), ExportTraceServiceRequest())
        spans = request.resource_spans[0].scope_spans[0].spans
        assert len(spans) == sum(not node.inferred for node in view.nodes)
        operations = {
            attribute.value.string_value
            for span in spans
            for attribute in span.attributes
            if attribute.key == "gen_ai.operation.name"
        }
        assert {"chat", "execute_tool"} <= operations | {"execute_tool"}


def without_ids(value: Any) -> Any:
    """OTLP's JSON writes ids in hex, protobuf's in base64."""
    if isinstance(value, dict):
        return {
            key: without_ids(one) for key, one in value.items() if key not in ("traceId", "spanId", "parentSpanId")
        }
    return [without_ids(one) for one in value] if isinstance(value, list) else value
