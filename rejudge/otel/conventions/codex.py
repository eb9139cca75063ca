"""Codex CLI: Rust ``tracing`` spans; a tool's span is named like the tool, usage sits on ``handle_responses``."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.conventions.values import count, milliseconds
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "tool_name": "tool_name",
    "call_id": "tool_call_id",
    "model": "requested_model",
    "slug": "requested_model",
}


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope.startswith("codex") or ("tool_name" in keys and "call_id" in keys) or "codex.turn" in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    attributes = span.attributes
    if span.name == "handle_responses" and "gen_ai.usage.input_tokens" in attributes:
        return "llm"
    tool = attributes.get("tool_name")
    if isinstance(tool, str) and "call_id" in attributes:
        return "tool" if span.name == tool else "span"
    if span.name in ("session_task.turn", "turn", "run_turn") and span.scope.startswith("codex"):
        return "agent" if span.name == "session_task.turn" else "span"
    return "span" if span.scope.startswith("codex") else None


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if reading.kind == "tool":
        if "arguments" in attributes:
            reading.offer(arguments=undo_json(attributes["arguments"]))
        if "output" in attributes:
            reading.offer(result=attributes["output"])
        if attributes.get("success") in (False, "false"):
            reading.failed = True
    elif reading.kind == "agent":
        reading.offer(agent_name="codex", inputs=attributes.get("input.value"))


_EVENTS: Final = frozenset({"codex.user_prompt", "codex.sse_event", "codex.tool_result", "codex.api_request"})


def spans_of_records(records: list[LogRecord]) -> list[Span]:
    """Spans for an export of log records alone: one per finished response and tool result."""
    spans: list[Span] = []
    for position, record in enumerate(records):
        attributes = record.attributes
        event = attributes.get("event.name")
        conversation = attributes.get("conversation.id")
        if event not in _EVENTS or conversation is None:
            continue
        made = _attributes_of(str(event), attributes)
        if made is None:
            continue
        name, facts = made
        duration = milliseconds(attributes.get("duration_ms"))
        failed = attributes.get("success") in (False, "false")
        spans.append(
            Span(
                str(conversation),
                f"{conversation}:{position}",
                None,
                name,
                record.time_ns - duration,
                record.time_ns,
                1,
                2 if failed else 0,
                str(attributes.get("output", "")) if failed else "",
                {"conversation.id": conversation, **facts},
                [],
                [],
                record.resource,
                "codex_otel",
            )
        )
    return spans


def _attributes_of(event: str, attributes: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    if event == "codex.tool_result":
        name = str(attributes.get("tool_name", "tool"))
        keys = ("tool_name", "call_id", "arguments", "output", "success")
        return name, {key: attributes[key] for key in keys if key in attributes} | {
            "call_id": attributes.get("call_id", "")
        }
    if event == "codex.sse_event" and attributes.get("event.kind") == "response.completed":
        facts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": attributes.get("model"),
            "gen_ai.usage.input_tokens": count(attributes.get("input_token_count")),
            "gen_ai.usage.output_tokens": count(attributes.get("output_token_count")),
            "gen_ai.usage.cache_read.input_tokens": count(attributes.get("cached_token_count")),
            "gen_ai.usage.reasoning.output_tokens": count(attributes.get("reasoning_token_count")),
        }
        return "handle_responses", facts
    if event == "codex.user_prompt":
        return "session_task.turn", {"input.value": attributes.get("prompt")}
    return None


CONVENTION: Final = Convention(
    name="codex",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    spans_of_records=spans_of_records,
    sessions=("conversation.id", "conversation_id", "thread_id", "thread.id"),
)
