"""pydantic-ai's own instrumentation (versions 1 to 5) and Logfire's integrations: GenAI with a dialect."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.events import events_of_list, read_all
from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.conventions.values import arguments_of, result_of
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "agent_name": "agent_name",
    "tool_arguments": "arguments",
    "tool_response": "result",
    "operation.cost": "cost",
    "final_result": "outputs",
}
_MARKS: Final = frozenset(
    {"agent_name", "model_request_parameters", "tool_response", "tool_arguments", "final_result"}
)


def _claims(scope: str, keys: frozenset[str]) -> bool:
    if scope.startswith(("pydantic-ai", "pydantic_ai", "logfire")):
        return True
    return any(key.startswith(("logfire.", "pydantic_ai.")) for key in keys) or not _MARKS.isdisjoint(keys)


def _kind(span: Span, reading: Reading) -> Kind | None:
    attributes = span.attributes
    written = attributes.get("logfire.span_type")
    if written == "log":
        return "event"
    if written == "pending_span":
        return "drop"
    if reading.operation is not None:
        return None
    if span.name == "running tools":
        return "span"
    if span.name.startswith("running tool") and reading.tool_name:
        return "tool"
    if span.name.startswith("running output function"):
        return "tool"
    if span.name == "agent run" or ("agent_name" in attributes and "model_name" in attributes):
        return "agent"
    return _kind_of_template(attributes)


def _kind_of_template(attributes: dict[str, Any]) -> Kind | None:
    """OpenAI-Agents through Logfire is told by its message templates alone."""
    template = attributes.get("logfire.msg_template")
    if not isinstance(template, str):
        return None
    if template.startswith("Function: {"):
        return "tool"
    if template.startswith("Agent run: {"):
        return "agent"
    if template.startswith(("Chat Completion", "Chat completion", "Responses API", "Message with")):
        return "llm"
    return "embedding" if template.startswith("Embedding") else None


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if reading.kind == "llm":
        events = attributes.get("events")
        if events is not None:
            read_all(events_of_list(events), reading)
        _read_request(attributes, reading)
        usage = undo_json(attributes.get("usage", attributes.get("gen_ai.usage.raw")))
        if isinstance(usage, dict):
            read_usage(usage, reading)
        parameters = undo_json(attributes.get("model_request_parameters"))
        if isinstance(parameters, dict):
            reading.offer(tool_definitions=parameters.get("function_tools") or None)
    elif reading.kind == "agent":
        _read_agent(attributes, reading)
    elif reading.kind == "tool":
        reading.offer(tool_name=attributes.get("name"))
        if reading.arguments is MISSING and "input" in attributes:
            reading.offer(arguments=arguments_of(attributes["input"]))
        if reading.result is MISSING and "output" in attributes:
            reading.offer(result=result_of(attributes["output"]))


def _read_agent(attributes: dict[str, Any], reading: Reading) -> None:
    history = attributes.get("pydantic_ai.all_messages")
    if history is None and "all_messages_events" in attributes:
        read_all(events_of_list(attributes["all_messages_events"]), reading)
    elif history is not None:
        reading.offer(messages_in=messages_of(history))
    name = attributes.get("name")
    reading.offer(agent_name=name if isinstance(name, str) else None)


def _read_request(attributes: dict[str, Any], reading: Reading) -> None:
    """Logfire's older client integrations put the whole request and answer into two JSON attributes."""
    request, response = undo_json(attributes.get("request_data")), undo_json(attributes.get("response_data"))
    if isinstance(request, dict):
        if reading.input_messages is None and (request.get("messages") or request.get("input")):
            reading.offer(messages_in=messages_of(request))
        reading.offer(requested_model=request.get("model"), tool_definitions=request.get("tools") or None)
        if reading.system_instructions is None:
            reading.system_instructions = request.get("system") or request.get("instructions")
    if isinstance(response, dict) and reading.output_messages is None:
        message = response.get("message") or response.get("combined_chunk_content") or response.get("output")
        if message:
            reading.offer(messages_out=output_messages_of(message))
    if isinstance(response, dict) and isinstance(response.get("usage"), dict):
        read_usage(response["usage"], reading)
    if "output" in attributes and reading.output_messages is None:
        reading.offer(messages_out=output_messages_of(attributes["output"]))


CONVENTION: Final = Convention(
    name="pydantic-ai",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    consumed=(
        "events",
        "all_messages_events",
        "pydantic_ai.all_messages",
        "model_request_parameters",
        "final_result",
    ),
)
