"""Langfuse's SDKs: ``langfuse.*`` attributes, usage and parameters as JSON."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.conventions.values import arguments_of, money, result_of
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json, undo_json_fully

FIELDS: Final[dict[str, str]] = {
    "langfuse.observation.model.name": "model",
    "langfuse.observation.input": "inputs",
    "langfuse.observation.output": "outputs",
    "langfuse.user.id": "user_id",
    "langfuse.trace.user_id": "user_id",
    "user.id": "user_id",
    "langfuse.observation.status_message": "error",
    "langfuse.observation.metadata.tool_call_id": "tool_call_id",
}

_KINDS: Final[dict[str, Kind]] = {
    "generation": "llm",
    "tool": "tool",
    "agent": "agent",
    "embedding": "embedding",
    "retriever": "retrieval",
    "event": "event",
}


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return any(key.startswith("langfuse.") for key in keys)


def _kind(span: Span, reading: Reading) -> Kind | None:
    attributes = span.attributes
    said = attributes.get("langfuse.observation.type")
    if not isinstance(said, str):
        return None
    kind = _KINDS.get(said.lower(), "span")
    if kind == "span" and said.lower() == "span":
        # Python SDKs before 3.3 call generations spans; other instrumentations under Langfuse' processor know better.
        if "langfuse.observation.model.name" in attributes:
            return "llm"
        return "span" if span.source == "langfuse" else None
    return kind


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if attributes.get("langfuse.observation.level") == "ERROR":
        reading.failed = True
    elif reading.error is not None:
        reading.error = None  # a status message of something that did not fail
    if isinstance(reading.tool_call_id, str):
        reading.tool_call_id = undo_json_fully(reading.tool_call_id)
    if span.source == "langfuse" and reading.kind == "tool":
        reading.tool_name = span.name  # an export's own names are what its users know
    inputs, outputs = undo_json(reading.inputs), undo_json(reading.outputs)
    if reading.kind in ("llm", "embedding"):
        usage = undo_json(attributes.get("langfuse.observation.usage_details"))
        if isinstance(usage, dict):
            read_usage(usage, reading)
        cost = undo_json(attributes.get("langfuse.observation.cost_details"))
        if isinstance(cost, dict):
            reading.offer(cost=cost_of(cost))
        parameters = undo_json(attributes.get("langfuse.observation.model.parameters"))
        if isinstance(parameters, dict):
            reading.offer(parameters=parameters)
    read_content(inputs, outputs, reading, span.name)


def read_content(inputs: Any, outputs: Any, reading: Reading, name: str) -> None:
    """Give a reading the input and output of a Langfuse observation."""
    if reading.kind == "llm":
        if isinstance(inputs, dict) and "tools" in inputs:
            reading.offer(tool_definitions=inputs["tools"])
        elif isinstance(inputs, list):
            # The LangChain handler lists the tools that were offered behind the messages.
            offered = [item for item in inputs if _is_offered_tool(item)]
            if offered:
                inputs = [item for item in inputs if not _is_offered_tool(item)]
                reading.offer(tool_definitions=[item["content"] for item in offered])
        if inputs is not MISSING:
            reading.offer(messages_in=messages_of(inputs))
        if outputs is not MISSING:
            reading.offer(messages_out=output_messages_of(outputs))
    elif reading.kind == "tool":
        reading.offer(tool_name=name, arguments=arguments_of(inputs), result=result_of(outputs))
    elif reading.kind == "agent":
        reading.offer(agent_name=name)


def _is_offered_tool(item: Any) -> bool:
    content = item.get("content") if isinstance(item, dict) else None
    return isinstance(content, dict) and content.get("type") == "function" and "function" in content


def cost_of(details: dict[str, Any]) -> Any:
    """The total of ``cost_details``, else the sum of its parts."""
    total = money(details.get("total"))
    if total is not None:
        return total
    parts = [amount for amount in map(money, details.values()) if amount is not None]
    return sum(parts[1:], parts[0]) if parts else None


CONVENTION: Final = Convention(
    name="langfuse",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=("session.id", "langfuse.session.id", "langfuse.trace.session_id"),
    consumed=(
        "langfuse.observation.usage_details",
        "langfuse.observation.cost_details",
        "langfuse.observation.model.parameters",
    ),
)
