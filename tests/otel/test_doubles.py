"""One call seen by several: a framework's instrumentation around ours, a transport's inside of it."""

from __future__ import annotations

from typing import Any

import orjson

from rejudge.models.attributes import SCOPE
from rejudge.models.session import SessionView
from rejudge.otel import assemble

from .traces import otlp, spans_in, wire_span


def tool(number: int, parent: int | None = None, *, payload: bool = True, **fields: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "look"}
    if payload:
        attributes |= {"gen_ai.tool.call.arguments": '{"q": "a"}', "gen_ai.tool.call.result": '"found"'}
    return wire_span(number, parent, attributes=attributes, **fields)


def model(number: int, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "desk",
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]',
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "ho"}]}]',
    }
    return wire_span(number, parent, attributes=attributes, **fields)


def session(**spans_by_scope: list[dict[str, Any]]) -> SessionView:
    scopes = {"theirs": "framework", "ours": SCOPE, "transport": "mcp"}
    request: dict[str, Any] = {"resourceSpans": []}
    for name, spans in spans_by_scope.items():
        request["resourceSpans"] += otlp(*spans, scope=scopes[name])["resourceSpans"]
    batch = spans_in(orjson.dumps(request))
    [recording] = assemble(batch.spans, batch.logs)
    return recording.view


FAILED: dict[str, Any] = {"status": {"code": 2, "message": "away"}}


def test_a_call_that_was_seen_around_ours_is_ours() -> None:
    view = session(theirs=[model(1), tool(3)], ours=[model(2, 1), tool(4, 3)])
    assert [node.id for node in view.llm_calls] == ["0000000000000002"]
    assert [node.id for node in view.tool_calls] == ["0000000000000004"]


def test_every_attempt_inside_one_call_counts() -> None:
    view = session(theirs=[model(1)], ours=[model(2, 1, **FAILED), model(3, 1)])
    assert [node.status for node in view.llm_calls] == ["failed", "completed"]


def test_a_failure_that_only_the_framework_saw_is_not_lost() -> None:
    view = session(theirs=[model(1, **FAILED)], ours=[model(2, 1)])
    assert [node.status for node in view.llm_calls] == ["failed"]


def test_a_request_that_a_call_took_is_no_second_call() -> None:
    view = session(ours=[tool(1)], transport=[tool(2, 1, payload=False)])
    assert [node.id for node in view.tool_calls] == ["0000000000000001"]


def test_a_tool_that_calls_itself_is_called_twice() -> None:
    assert len(session(ours=[tool(1), tool(2, 1)]).tool_calls) == 2
