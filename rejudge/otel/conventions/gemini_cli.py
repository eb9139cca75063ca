"""Gemini CLI: GenAI names over Gemini's own shapes; each model call and tool batch is a trace of its own."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import Message, output_messages_of
from rejudge.otel.conventions.parts import Part, text_part
from rejudge.otel.conventions.reading import MISSING, Convention, Reading, never
from rejudge.otel.conventions.values import milliseconds
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.text import undo_json


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope == "gemini-cli"


def _read(span: Span, reading: Reading) -> None:
    if reading.kind == "llm":
        reading.system = reading.system or "gcp.gemini"
        if reading.output_messages is not None:
            reading.offer(messages_out=_one_message(output_messages_of(reading.output_messages)))
        tools = undo_json(reading.tool_definitions)
        if isinstance(tools, list) and tools and isinstance(tools[0], dict) and "functionDeclarations" in tools[0]:
            reading.tool_definitions = tools[0]["functionDeclarations"]
    elif reading.kind == "tool":
        call, answer = undo_json(reading.input_messages), undo_json(reading.output_messages)
        if isinstance(call, dict):
            reading.offer(arguments=call.get("args", MISSING))
        if isinstance(answer, dict):
            _read_answer(answer, reading)
        reading.input_messages = reading.output_messages = None


def _one_message(messages: list[Message]) -> list[Message]:
    """A streamed answer comes as a message per chunk."""
    if len(messages) < 2 or any(message["role"] != "assistant" for message in messages):
        return messages
    parts: list[Part] = []
    for part in (part for message in messages for part in message["parts"]):
        if parts and parts[-1].get("type") == part.get("type") == "text":
            parts[-1] = text_part(parts[-1]["content"] + part["content"])
        else:
            parts.append(part)
    return [{**messages[-1], "parts": parts}]


def _read_answer(answer: dict[str, Any], reading: Reading) -> None:
    if answer.get("status") in ("error", "cancelled"):
        reading.failed = True
    response = answer.get("response")
    if not isinstance(response, dict):
        return
    error = response.get("error")
    if isinstance(error, dict):
        reading.offer(error=error.get("message"))
    parts = response.get("responseParts")
    for part in parts if isinstance(parts, list) else []:
        inner = part.get("functionResponse") if isinstance(part, dict) else None
        if isinstance(inner, dict) and inner.get("response") is not None:
            reading.offer(result=inner["response"])
    shown = response.get("resultDisplay")
    reading.offer(result=shown if shown is not None else MISSING)


_OPERATIONS: Final = {
    "gemini_cli.api_response": "chat",
    "gemini_cli.api_error": "chat",
    "gemini_cli.tool_call": "execute_tool",
    "gemini_cli.user_prompt": "invoke_agent",
}


def spans_of_records(records: list[LogRecord]) -> list[Span]:
    """Spans for an export of log records alone: one per prompt, answer and tool call."""
    spans: list[Span] = []
    for position, record in enumerate(records):
        attributes = record.attributes
        operation = _OPERATIONS.get(str(attributes.get("event.name")))
        session = attributes.get("session.id")
        if operation is None or session is None:
            continue
        failed = attributes.get("success") is False or attributes.get("event.name") == "gemini_cli.api_error"
        spans.append(
            Span(
                str(session),
                f"{session}:{position}",
                None,
                f"{operation} {attributes.get('function_name', attributes.get('model', ''))}".strip(),
                record.time_ns - milliseconds(attributes.get("duration_ms")),
                record.time_ns,
                1,
                2 if failed else 0,
                str(attributes.get("error", attributes.get("error_message", ""))) if failed else "",
                {"gen_ai.operation.name": operation, "session.id": session, **_facts(attributes)},
                [],
                [],
                record.resource,
                "gemini-cli",
            )
        )
    return spans


def _facts(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a record under the names of the conventions."""
    answer = undo_json(attributes.get("response_text"))
    candidates = [one for one in answer if isinstance(one, dict)] if isinstance(answer, list) else []
    said = [candidate for one in candidates for candidate in one.get("candidates", ())]
    contents = [one["content"] for one in said if isinstance(one, dict) and one.get("content")]
    facts = {
        "gen_ai.request.model": attributes.get("model"),
        "gen_ai.usage.input_tokens": attributes.get("input_token_count"),
        "gen_ai.usage.output_tokens": attributes.get("output_token_count"),
        "gen_ai.usage.cache_read.input_tokens": attributes.get("cached_content_token_count"),
        "gen_ai.usage.reasoning.output_tokens": attributes.get("thoughts_token_count"),
        "gen_ai.response.finish_reasons": attributes.get("finish_reasons"),
        "gen_ai.output.messages": contents or None,
        "gen_ai.tool.name": attributes.get("function_name"),
        "gen_ai.tool.call.arguments": attributes.get("function_args"),
        "error.type": attributes.get("error_type"),
        "prompt": attributes.get("prompt"),
    }
    return {key: value for key, value in facts.items() if value is not None}


CONVENTION: Final = Convention(
    name="gemini-cli",
    claims=_claims,
    fields={"prompt": "inputs"},
    kind=never,
    read=_read,
    sessions=("session.id",),
    spans_of_records=spans_of_records,
)
