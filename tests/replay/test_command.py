"""Command agents: any language, told by variables, files and a small HTTP endpoint."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PassthroughPolicy, PolicySet
from rejudge.replay import replay_session

from .build import LIVE, model, script, session, tool, view_of

PLAIN = """
    import json, os, sys, urllib.error, urllib.request

    def ask(path, body):
        request = urllib.request.Request(
            os.environ["REJUDGE_TAPE_URL"] + path,
            json.dumps(body).encode(),
            {"Authorization": "Bearer " + os.environ["REJUDGE_TAPE_TOKEN"], "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def export(*spans, path="/v1/traces"):
        body = {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "plain"}, "spans": spans}]}]}
        request = urllib.request.Request(
            os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + path,
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request).close()

    def tool_span(number, name, arguments, result):
        values = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name,
                  "gen_ai.tool.call.arguments": json.dumps(arguments), "gen_ai.tool.call.result": json.dumps(result)}
        start = 1767225600000000000 + number * 1000
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]
        return {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": f"execute_tool {name}", "kind": 1,
                "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 900), "attributes": attributes}

    inputs = json.load(sys.stdin)
"""


def test_it_is_told_by_files_variables_and_stdin(tmp_path: Path) -> None:
    spec = script(
        tmp_path,
        PLAIN
        + """
    plan = json.load(open(os.environ["REJUDGE_REPLAY_FILE"]))
    same = json.load(open(os.environ["REJUDGE_INPUTS_FILE"])) == inputs
    kept = [plan["trial"], plan["override"]["model"], plan["baseline_session_id"], same, os.getcwd() == sys.path[0]]
    assert ask("/override", {"part": "model"}) == {"applies": True, "value": "new"}
    assert ask("/override", {"part": "prompt"}) == {"applies": False}
    json.dump({"inputs": inputs, "kept": kept}, open(os.environ["REJUDGE_OUTPUTS_FILE"], "w"))
    """,
    )
    result = replay_session(session(inputs={"q": 1}), spec, override=Override(model="new"), trial=3)
    assert result.status == "completed", (result.reason, result.output)
    assert result.outputs == {"inputs": {"q": 1}, "kept": [3, "new", "base", True, True]}
    assert result.applied == ("model",) and view_of(result).session.inputs == {"q": 1}


def test_plain_requests_are_answered_and_plain_spans_become_one_session(tmp_path: Path) -> None:
    spec = script(
        tmp_path,
        PLAIN
        + """
    for number, order in enumerate(inputs, start=1):
        answer = ask("/tool", {"name": "look", "arguments": {"order": order}, "call_id": f"c{number}"})
        assert answer["answered"] and answer["source"] == "history", answer
        export(tool_span(number, "look", {"order": order}, answer["result"]))
    """,
    )
    baseline = session(
        tool("look", {"order": "A1"}, {"total": 1}), tool("look", {"order": "B2"}, {"total": 2}), inputs=["A1", "B2"]
    )
    result = replay_session(baseline, spec)
    assert result.status == "completed", (result.reason, result.output)
    assert [node.outputs for node in view_of(result).tool_calls] == [{"total": 1}, {"total": 2}]
    assert result.divergence is None and result.fidelity.history == 2


def test_a_miss_tells_it_to_stop_and_ends_it_where_it_does_not(tmp_path: Path) -> None:
    spec = script(
        tmp_path,
        PLAIN
        + """
    import time
    answer = ask("/tool", {"name": "refund", "arguments": {"amount": 25}})
    assert answer["answered"] is False and answer["action"] == "stop", answer
    time.sleep(600)
    """,
    )
    result = replay_session(session(tool("refund", {"amount": 20})), spec)
    assert result.status == "failed" and result.miss is not None
    assert result.miss.differences[0].called == 25 and result.duration_seconds < 10


def test_recorded_failures_and_errors_to_cope_with_are_told_apart(tmp_path: Path) -> None:
    spec = script(
        tmp_path,
        PLAIN
        + """
    failed = ask("/tool", {"name": "pay", "arguments": {}})
    missed = ask("/tool", {"name": "pay", "arguments": {}})
    live = ask("/tool", {"name": "now", "arguments": {}})
    json.dump([failed["error"], missed["action"], live], open(os.environ["REJUDGE_OUTPUTS_FILE"], "w"))
    """,
    )
    policies = PolicySet(tools_default=HistoryPolicy(on_miss="error_result"), tools={"now": PassthroughPolicy()})
    baseline = session(tool("pay", {}, None, status="failed", error="declined", error_type="Declined"))
    result = replay_session(baseline, spec, policies=policies)
    assert result.outputs == [
        {"message": "declined", "type": "Declined"},
        "error",
        {"answered": False, "action": "call"},
    ], (result.reason, result.output)


def test_a_model_request_is_answered_or_sent_with_the_override(tmp_path: Path) -> None:
    source = (
        PLAIN
        + """
    request = {"model": "desk", "messages": [{"role": "user", "parts": [{"type": "text", "content": inputs}]}]}
    answer = ask("/model", request)
    json.dump(answer, open(os.environ["REJUDGE_OUTPUTS_FILE"], "w"))
    """
    )
    baseline = session(model("hi", "hello"), inputs="hi")
    spec = script(tmp_path, source)
    taped = replay_session(baseline, spec, policies=PolicySet(models_default=HistoryPolicy()))
    assert taped.outputs["response"]["messages"][0]["parts"][0]["content"] == "hello", (taped.reason, taped.output)
    live = replay_session(baseline, spec, override=Override(model="new", system_prompt="Be brief."))
    assert live.outputs["answered"] is False and live.outputs["request"]["model"] == "new"
    assert live.outputs["request"]["system_instructions"][0]["content"] == "Be brief."


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("('/tool', b'{}', {})", 401),
        ("('/tool', b'{}', {'Authorization': 'Bearer wrong'})", 401),
        ("('/tool', b'{}', token)", 400),
        ("('/tool', b'[]', token)", 400),
        ("('/tool', b'nonsense', token)", 400),
        ("('/nothing', b'{}', token)", 404),
        ("('/../wrong/v1/traces', b'{}', {})", 404),
    ],
)
def test_the_endpoint_refuses_what_it_does_not_understand(tmp_path: Path, request_: str, status: int) -> None:
    spec = script(
        tmp_path,
        PLAIN
        + f"""
    token = {{"Authorization": "Bearer " + os.environ["REJUDGE_TAPE_TOKEN"]}}
    path, body, headers = {request_}
    try:
        urllib.request.urlopen(urllib.request.Request(os.environ["REJUDGE_TAPE_URL"] + path, body, headers))
        code = 200
    except urllib.error.HTTPError as error:
        code = error.code
    json.dump(code, open(os.environ["REJUDGE_OUTPUTS_FILE"], "w"))
    """,
    )
    result = replay_session(session(), spec)
    assert result.outputs == status, result.output


PYTHON = """
    import json, os, sys
    import rejudge
    from pathlib import Path

    @rejudge.tool
    def look(order: str) -> dict:
        with Path("ran.txt").open("a") as ran: ran.write("look\\n")
        return {"order": order}

    inputs = json.load(sys.stdin)
    with rejudge.record("support", inputs=inputs) as run:
        run.outputs = look(inputs)
"""


def test_a_python_command_with_our_decorators_needs_no_exporter(tmp_path: Path) -> None:
    spec = script(tmp_path, PYTHON)
    first = replay_session(session(inputs="A1"), spec, policies=LIVE)
    assert first.status == "completed", (first.reason, first.output)
    assert (first.outputs, first.recording is not None) == ({"order": "A1"}, True)
    again = replay_session(view_of(first), spec)
    assert (again.status, again.divergence, again.fidelity.ratio) == ("completed", None, 1.0)
    assert (tmp_path / "ran.txt").read_text() == "look\n"


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_standard_exporter_finds_its_way(tmp_path: Path, compression: str) -> None:
    spec = script(
        tmp_path,
        """
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        import rejudge

        trace.set_tracer_provider(TracerProvider())
        trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

        @rejudge.tool
        def look() -> int:
            return 1

        with trace.get_tracer("shop").start_as_current_span("work"):
            look()
        """,
        environment={"OTEL_EXPORTER_OTLP_COMPRESSION": compression},
    )
    result = replay_session(session(tool("look", {}, 7)), spec)
    assert result.status == "completed", (result.reason, result.output)
    view = view_of(result)
    assert [node.name for node in view.nodes] == ["work", "execute_tool look"] and view.nodes[1].outputs == 7


@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [
        ("exit 3", "failed", "exit code 3"),
        ("kill -9 $$", "crashed", "SIGKILL"),
        ("no-such-program --now", "failed", "exit code 127"),
        ("sleep 600", "timed_out", "still running after 1 s"),
        ("sleep 613 & echo started", "completed", None),
    ],
)
def test_how_a_command_ends_is_how_its_replay_ends(
    tmp_path: Path, command: str, status: str, reason: str | None
) -> None:
    from rejudge.replay import agent_spec

    limit = 1 if status == "timed_out" else 60
    spec = agent_spec(command=command, folder=tmp_path, limits={"timeout_seconds": limit})
    result = replay_session(session(), spec)
    assert result.status == status and (reason or "") in (result.reason or ""), (result.reason, result.output)
    assert view_of(result).session.inputs == "hello"


def test_a_command_whose_spans_are_garbage_is_fine(tmp_path: Path) -> None:
    spec = script(
        tmp_path,
        PLAIN
        + """
    for body in (b"garbage", b"\\x0a\\xff", b"", b"[]"):
        for kind in ("application/x-protobuf", "application/json", "text/plain"):
            url = os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] + "/v1/traces"
            request = urllib.request.Request(url, body, {"Content-Type": kind})
            try: urllib.request.urlopen(request).close()
            except urllib.error.HTTPError: pass
    """,
    )
    result = replay_session(session(), spec)
    assert result.status == "completed", (result.reason, result.output)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_an_agent_in_another_language_is_answered(tmp_path: Path) -> None:
    from rejudge.replay import agent_spec

    (tmp_path / "agent.mjs").write_text(
        """
        import { readFileSync, writeFileSync } from "node:fs";
        const order = JSON.parse(readFileSync(0, "utf8"));
        const reply = await fetch(process.env.REJUDGE_TAPE_URL + "/tool", {
          method: "POST",
          headers: { Authorization: `Bearer ${process.env.REJUDGE_TAPE_TOKEN}` },
          body: JSON.stringify({ name: "look", arguments: { order } }),
        });
        writeFileSync(process.env.REJUDGE_OUTPUTS_FILE, JSON.stringify((await reply.json()).result));
        """
    )
    spec = agent_spec(command="node agent.mjs", folder=tmp_path)
    result = replay_session(session(tool("look", {"order": "A1"}, {"total": 3}), inputs="A1"), spec)
    assert result.outputs == {"total": 3}, (result.reason, result.output)
