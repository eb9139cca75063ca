"""Claude Code: spans of ``com.anthropic.claude_code.tracing``, and log records where only those are exported."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.values import count, milliseconds
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "model": "requested_model",
    "stop_reason": "finish_reasons",
    "request_id": "response_id",
    "tool_name": "tool_name",
    "tool_use_id": "tool_call_id",
    "user_prompt": "inputs",
    "user.id": "user_id",
    "error": "error",
    "cost_usd": "cost",
}
_KINDS: Final[dict[str, Kind]] = {"interaction": "agent", "llm_request": "llm", "tool": "tool"}
_ARGUMENTS: Final[dict[str, str]] = {
    "full_command": "command",
    "file_path": "file_path",
    "pattern": "pattern",
    "path": "path",
    "url": "url",
    "query": "query",
    "description": "description",
    "subagent_type": "subagent_type",
    "skill_name": "skill",
}


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope.startswith("com.anthropic.claude_code")


def _kind(span: Span, reading: Reading) -> Kind | None:
    said = span.attributes.get("span.type")
    if not isinstance(said, str):
        said = span.name.removeprefix("claude_code.")
    return _KINDS.get(said, "span")


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if attributes.get("success") in (False, "false"):
        reading.failed = True
    if reading.kind == "llm":
        read_native_usage(attributes, reading)
    elif reading.kind == "tool":
        _read_tool(span, reading)
    elif reading.kind == "agent":
        reading.offer(agent_name="claude-code")
    elif attributes.get("span.type") == "tool.execution":
        reading.parent_failure = True


def read_native_usage(attributes: dict[str, Any], reading: Reading) -> None:
    """Counts under Anthropic's own names leave the cache out of the input."""
    read, written = count(attributes.get("cache_read_tokens")), count(attributes.get("cache_creation_tokens"))
    native = count(attributes.get("input_tokens"))
    reading.offer(
        input_tokens=None if native is None else native + (read or 0) + (written or 0),
        output_tokens=count(attributes.get("output_tokens")),
        cached_input_tokens=read,
        cache_write_tokens=written,
    )


def _read_tool(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    given = undo_json(attributes.get("tool_input"))
    if not isinstance(given, dict):
        given = {name: attributes[key] for key, name in _ARGUMENTS.items() if key in attributes}
    reading.offer(arguments=given or MISSING)
    for event in span.events:
        if event.name == "tool.output":
            output = event.attributes.get("output", event.attributes.get("content"))
            reading.offer(result=output if output is not None else MISSING)


_SPANS: Final = frozenset({"api_request", "api_error", "tool_result", "user_prompt"})


def spans_of_records(records: list[LogRecord]) -> list[Span]:
    """Spans for an export of log records alone: one per prompt, model request and tool result."""
    spans: list[Span] = []
    prompts: dict[Any, str] = {}
    for position, record in enumerate(records):
        event = str(record.attributes.get("event.name", "")).removeprefix("claude_code.")
        if event not in _SPANS or not record.scope.startswith("com.anthropic.claude_code"):
            continue
        attributes = dict(record.attributes)
        prompt = attributes.get("prompt.id")
        duration = milliseconds(attributes.get("duration_ms"))
        identity = f"{attributes.get('session.id')}:{attributes.get('event.sequence', position)}"
        attributes["span.type"] = {"user_prompt": "interaction", "tool_result": "tool"}.get(event, "llm_request")
        if event == "user_prompt":
            attributes["user_prompt"] = attributes.get("prompt")
            prompts[prompt] = identity
        failed = event == "api_error" or attributes.get("success") == "false"
        spans.append(
            Span(
                str(attributes.get("session.id", "")),
                identity,
                prompts.get(prompt) if event != "user_prompt" else None,
                f"claude_code.{attributes['span.type']}",
                record.time_ns - duration,
                record.time_ns,
                1,
                2 if failed else 0,
                str(attributes.get("error", "")) if failed else "",
                attributes,
                [],
                [],
                record.resource,
                "com.anthropic.claude_code.tracing",
            )
        )
    return spans


CONVENTION: Final = Convention(
    name="claude-code",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    spans_of_records=spans_of_records,
    sessions=("session.id",),
)
