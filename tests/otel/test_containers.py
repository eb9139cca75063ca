"""What spans come wrapped in is told by its content: exports of products, and the forms of other tracers."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejudge.models.session import SessionView
from rejudge.otel import Recording, Refusal, assemble, read
from rejudge.otel.splitting import documents, values
from tests.otel.traces import ANSWERS, CHAT, DATA, joined, otlp, spans_in, spans_of, wire_span

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
).filter(lambda value: isinstance(value, list | dict))


def session_in(document: Any) -> SessionView:
    refused: list[Refusal] = []
    batch = spans_in(orjson.dumps(document), refused)
    (recording,) = assemble(batch.spans, batch.logs)
    assert not refused
    return recording.view


def calls_of(view: SessionView) -> list[tuple[str, str | None, Any, Any]]:
    return [(node.node_type, node.tool_name or node.model, node.inputs, node.outputs) for node in view.nodes]


LANGSMITH = [
    {
        "id": "0d1b2c3d-0000-4000-8000-000000000001",
        "trace_id": "0d1b2c3d-0000-4000-8000-000000000001",
        "name": "LangGraph",
        "run_type": "chain",
        "start_time": "2026-05-01T10:00:00.000000",
        "end_time": "2026-05-01T10:00:03.000000",
        "inputs": {"messages": [{"role": "user", "content": "Where is HG-1?"}]},
        "outputs": {"messages": [{"type": "ai", "content": "On its way."}]},
        "extra": {"metadata": {"thread_id": "thread-5"}},
        "parent_run_id": None,
    },
    {
        "id": "0d1b2c3d-0000-4000-8000-000000000002",
        "trace_id": "0d1b2c3d-0000-4000-8000-000000000001",
        "parent_run_id": "0d1b2c3d-0000-4000-8000-000000000001",
        "name": "ChatOpenAI",
        "run_type": "llm",
        "start_time": "2026-05-01T10:00:00.100000",
        "end_time": "2026-05-01T10:00:01.000000",
        "inputs": {"messages": [[{"id": ["HumanMessage"], "lc": 1, "kwargs": {"content": "Where is HG-1?"}}]]},
        "outputs": {
            "generations": [
                [
                    {
                        "message": {
                            "lc": 1,
                            "id": ["AIMessage"],
                            "kwargs": {
                                "content": "",
                                "tool_calls": [{"name": "track", "args": {"order": "HG-1"}, "id": "call_1"}],
                            },
                        }
                    }
                ]
            ]
        },
        "extra": {
            "metadata": {"ls_provider": "openai", "ls_model_name": "gpt-4o-mini"},
            "invocation_params": {"n": 1},
        },
        "prompt_tokens": 20,
        "completion_tokens": 5,
        "total_tokens": 25,
        "total_cost": "0.0001",
    },
    {
        "id": "0d1b2c3d-0000-4000-8000-000000000003",
        "trace_id": "0d1b2c3d-0000-4000-8000-000000000001",
        "parent_run_id": "0d1b2c3d-0000-4000-8000-000000000001",
        "name": "track",
        "run_type": "tool",
        "start_time": "2026-05-01T10:00:01.100000",
        "end_time": "2026-05-01T10:00:01.200000",
        "inputs": {"input": "{'order': 'HG-1'}"},
        "outputs": None,
        "error": "ValueError: unknown order",
    },
]


@pytest.mark.parametrize("wrap", [lambda runs: runs, lambda runs: {"runs": runs}], ids=["list", "answer"])
def test_langsmith_runs(wrap: Any) -> None:
    view = session_in(wrap(LANGSMITH))

    session = view.session
    assert (session.source, session.external_id) == ("langsmith", "thread-5")
    assert (session.llm_call_count, session.tool_call_count, session.tool_error_count) == (1, 1, 1)
    assert (session.input_tokens, session.output_tokens, str(session.cost)) == (20, 5, "0.0001")
    assert (session.inputs, session.outputs) == ("Where is HG-1?", "On its way.")
    call, tool = view.llm_calls[0], view.tool_calls[0]
    assert call.inputs["messages"] == [{"role": "user", "parts": [{"type": "text", "content": "Where is HG-1?"}]}]
    assert call.outputs["messages"][0]["parts"][0]["arguments"] == {"order": "HG-1"}
    assert tool.error == "ValueError: unknown order"


def test_langsmith_runs_as_lines_with_children_inside() -> None:
    root = {**LANGSMITH[0], "child_runs": LANGSMITH[1:]}
    batch = spans_in(b"\n".join(map(orjson.dumps, LANGSMITH)))

    assert calls_of(session_in(root)) == calls_of(assemble(batch.spans)[0].view)


def mlflow_trace(version: int) -> dict[str, Any]:
    files = next(answer["files"] for answer in ANSWERS if answer["run"] == "mlflow_openai__tools2")
    spans = []
    for span in spans_of(*files).spans:
        code = ("UNSET", "OK", "ERROR")[span.status_code]
        if version == 3:
            spans.append(
                {
                    "trace_id": base64.b64encode(bytes.fromhex(span.trace_id)).decode(),
                    "span_id": base64.b64encode(bytes.fromhex(span.span_id)).decode(),
                    "parent_span_id": base64.b64encode(bytes.fromhex(span.parent_id or "")).decode() or None,
                    "name": span.name,
                    "start_time_unix_nano": span.start_ns,
                    "end_time_unix_nano": span.end_ns,
                    "status": {"code": f"STATUS_CODE_{code}", "message": ""},
                    "attributes": span.attributes,
                    "events": [],
                }
            )
        else:
            spans.append(
                {
                    "name": span.name,
                    "context": {"trace_id": f"0x{span.trace_id}", "span_id": f"0x{span.span_id}"},
                    "parent_id": f"0x{span.parent_id}" if span.parent_id else None,
                    "start_time": span.start_ns,
                    "end_time": span.end_ns,
                    "status_code": code,
                    "status_message": "",
                    "attributes": span.attributes,
                    "events": [],
                }
            )
    info = {
        "trace_id": "tr-" + spans_of(*files).spans[0].trace_id,
        "trace_metadata": {"mlflow.trace.session": "chat-1"},
    }
    return {"info": info, "data": {"spans": spans}}


@pytest.mark.parametrize("version", [2, 3])
def test_mlflow_traces(version: int) -> None:
    view = session_in(mlflow_trace(version))

    assert (view.session.source, view.session.external_id) == ("mlflow", "chat-1")
    assert view.session.tool_names == ("get_weather", "convert_temperature")
    assert (view.session.input_tokens, view.session.output_tokens) == (414, 88)


def phoenix_otlpv1() -> dict[str, Any]:
    members = (
        "string_value",
        "bool_value",
        "int_value",
        "double_value",
        "array_value",
        "kvlist_value",
        "bytes_value",
    )
    spans = []
    for span in spans_of("lc_oi/tools2.traces.00.pb").spans:
        attributes = []
        for key, value in span.attributes.items():
            member = (
                "bool_value" if isinstance(value, bool) else "int_value" if isinstance(value, int) else "string_value"
            )
            full = dict.fromkeys(members) | {member: value if member != "string_value" else str(value)}
            attributes.append({"key": key, "value": full})
        spans.append(
            {
                "trace_id": span.trace_id,
                "span_id": span.span_id,
                "parent_span_id": span.parent_id,
                "name": span.name,
                "kind": "SPAN_KIND_INTERNAL",
                "start_time_unix_nano": span.start_ns,
                "end_time_unix_nano": span.end_ns,
                "attributes": attributes,
                "events": [],
                "status": {"code": span.status_code, "message": ""},
                "trace_state": None,
            }
        )
    return {"data": spans, "next_cursor": None}


def test_phoenix_gives_the_same_in_its_otlp_dialect() -> None:
    view = session_in(phoenix_otlpv1())

    assert view.session.source == "phoenix"
    assert (view.session.llm_call_count, view.session.input_tokens) == (3, 414)
    assert view.session.tool_names == ("get_weather", "convert_temperature")


def test_phoenix_attributes_may_be_nested() -> None:
    flat = {
        "llm.model_name": "gpt-4o-mini",
        "llm.token_count.prompt": 7,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "hi",
    }
    nested = {
        "llm": {
            "model_name": "gpt-4o-mini",
            "token_count": {"prompt": 7},
            "input_messages": [{"message": {"role": "user", "content": "hi"}}],
        }
    }

    def document(attributes: dict[str, Any]) -> dict[str, Any]:
        context = {"trace_id": "1" * 32, "span_id": "2" * 16}
        times = {"start_time": "2026-01-01T00:00:00+00:00", "end_time": "2026-01-01T00:00:01+00:00"}
        span = {"name": "call", "context": context, "span_kind": "LLM", "status_code": "OK", **times}
        return {"data": [{**span, "attributes": attributes}]}

    assert calls_of(session_in(document(flat))) == calls_of(session_in(document(nested)))


LANGFUSE = {
    "id": "trace-1",
    "name": "support",
    "sessionId": "chat-9",
    "userId": "u-1",
    "observations": [
        {
            "id": "obs-1",
            "traceId": "trace-1",
            "type": "GENERATION",
            "name": "answer",
            "startTime": "2026-05-01T10:00:00.000Z",
            "endTime": "2026-05-01T10:00:02.000Z",
            "model": "gpt-4o-mini",
            "input": [{"role": "user", "content": "hello"}],
            "output": {"role": "assistant", "content": "hi"},
            "usageDetails": {"input": 90, "input_cache_read": 10, "output": 5, "output_reasoning": 2},
            "costDetails": {"total": 0.001},
            "level": "DEFAULT",
        },
        {
            "id": "obs-2",
            "traceId": "trace-1",
            "type": "TOOL",
            "name": "refund",
            "startTime": "2026-05-01T10:00:02.100Z",
            "endTime": "2026-05-01T10:00:02.200Z",
            "input": {"order": 1},
            "level": "ERROR",
            "statusMessage": "no such order",
        },
    ],
}


def test_langfuse_parts_of_usage_add_up() -> None:
    session = session_in(LANGFUSE).session

    assert (session.source, session.external_id, session.user_id) == ("langfuse", "chat-9", "u-1")
    assert (session.input_tokens, session.output_tokens) == (100, 7)
    assert (session.cached_input_tokens, session.reasoning_tokens, str(session.cost)) == (10, 2, "0.001")
    assert (session.tool_names, session.tool_error_count) == (("refund",), 1)


def test_langfuse_usage_of_zeros_is_unknown() -> None:
    generation = {**LANGFUSE["observations"][0], "usageDetails": {"input": 0, "output": 0}}  # type: ignore[dict-item]

    assert session_in({**LANGFUSE, "observations": [generation]}).session.input_tokens is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"external_id": None}, "external_id"),
        ({"nodes": []}, "without nodes"),
        ({"nodes": [{"index": 0, "node_type": "nonsense"}]}, "node_type"),
        ({"nodes": [{"index": 0, "node_type": "span"}, {"index": 0, "node_type": "span"}]}, "twice"),
        ({"nodes": [{"index": 0, "node_type": "span", "parent_index": 3}]}, "parent"),
    ],
)
def test_a_bad_kitaru_record_is_refused_alone(change: dict[str, Any], reason: str) -> None:
    good = {"external_id": "s", "nodes": [{"index": 0, "node_type": "llm_call", "model": "m"}]}
    refused: list[Refusal] = []

    batch = spans_in(orjson.dumps({**good, **change}) + b"\n" + orjson.dumps(good), refused)

    assert len(batch.spans) == 1
    assert len(refused) == 1 and reason in refused[0].reason and refused[0].line == 1


def test_large_documents_are_taken_apart_without_loss() -> None:
    body = (DATA / "encodings/lc_oi_tools2.jaeger.json").read_bytes()
    tempo = (DATA / "encodings/pyai2_tools2.tempo_v1.json").read_bytes()
    phoenix = (DATA / "phoenix_export/spans_limit_1000.json").read_bytes()
    mlflow, runs = orjson.dumps(mlflow_trace(3)), orjson.dumps(LANGSMITH)
    trace = {key: value for key, value in LANGFUSE.items() if key != "observations"}
    langfuse = orjson.dumps({"trace": trace, "observations": LANGFUSE["observations"]})

    for whole in (body, tempo, phoenix, mlflow, runs, langfuse):
        chunks = [whole[start : start + 1000] for start in range(0, len(whole), 1000)]
        pieces = list(documents(chunks, lambda *_: pytest.fail("refused")))
        apart = spans_in(b"\n".join(map(orjson.dumps, pieces)))

        assert pieces
        assert counted(assemble(apart.spans)) == counted(assemble(spans_in(whole).spans))


def counted(recordings: list[Recording]) -> list[tuple[Any, ...]]:
    sessions = [recording.view.session for recording in recordings]
    return sorted((one.external_id, one.llm_call_count, one.tool_call_count, one.input_tokens) for one in sessions)


def test_folders_globs_and_standard_input(tmp_path: Path) -> None:
    body = orjson.dumps(otlp(wire_span(1, attributes=CHAT)))
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one.data").write_bytes(body)
    (tmp_path / "two.txt").write_bytes(body.replace(f"{1:032x}".encode(), f"{2:032x}".encode()))
    (tmp_path / ".hidden").write_bytes(b"secret")
    refused: list[Refusal] = []
    told: list[int] = []

    folder = joined(read([tmp_path, tmp_path / "two.txt"], refuse=refused.append, progress=told.append))
    pattern = joined(read([str(tmp_path / "*.txt")], refuse=refused.append))
    piped = joined(read(["-"], refuse=refused.append, stdin=io.BytesIO(body)))
    joined(read([tmp_path / "none", str(tmp_path / "*.nothing")], refuse=refused.append))

    assert (len(folder.spans), len(pattern.spans), len(piped.spans)) == (2, 1, 1)
    assert sum(told) == 2 * len(body)
    assert [refusal.reason for refusal in refused] == ["no such file", "no file matches this pattern"]


def test_an_element_beyond_all_measure_is_refused() -> None:
    span = wire_span(1, attributes={**CHAT, "padding": "x" * 5_000})
    body = orjson.dumps(otlp(span))
    told: list[str] = []

    pieces = list(documents([body[:3_000], body[3_000:]], lambda at, content, why: told.append(why), limit=2_000))

    assert not pieces and "more than 2000 bytes" in told[0]


@given(st.lists(JSON, max_size=5), st.integers(1, 30), st.sampled_from([b"", b"\n", b" , "]), st.booleans())
def test_values_behind_each_other_are_found_at_any_cut(
    documents: list[Any], size: int, gap: bytes, pretty: bool
) -> None:
    option = orjson.OPT_INDENT_2 if pretty else 0
    body = gap.join(orjson.dumps(document, option=option) for document in documents)

    found = values((body[start : start + size] for start in range(0, len(body), size)), 10_000)

    assert [orjson.loads(value.content) for value in found] == documents
    assert all(body[value.offset :].startswith(value.content) for value in found)
