"""OpenLLMetry (Traceloop), old and new: ``traceloop.*`` beside GenAI attributes, ``llm.request.type`` before them."""

from __future__ import annotations

from typing import Final

from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.values import arguments_of, result_of
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json, undo_json_fully

FIELDS: Final[dict[str, str]] = {
    "traceloop.entity.input": "inputs",
    "traceloop.entity.output": "outputs",
    "tool.name": "tool_name",
    "traceloop.association.properties.user_id": "user_id",
}

_REQUESTS: Final[dict[str, Kind]] = {
    "chat": "llm",
    "completion": "llm",
    "embedding": "embedding",
    "rerank": "retrieval",
}
_KINDS: Final[dict[str, Kind]] = {"tool": "tool", "agent": "agent", "workflow": "workflow", "task": "span"}
_SUFFIXES: Final = (".tool", ".agent", ".task", ".workflow")


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return "llm.request.type" in keys or any(key.startswith("traceloop.") for key in keys)


def _kind(span: Span, reading: Reading) -> Kind | None:
    attributes = span.attributes
    request = attributes.get("llm.request.type")
    if isinstance(request, str) and request in _REQUESTS:
        return _REQUESTS[request]
    said = attributes.get("traceloop.span.kind")
    return _KINDS.get(said, "span") if isinstance(said, str) else None


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    entity = attributes.get("traceloop.entity.name")
    if reading.kind == "tool":
        name = entity if isinstance(entity, str) and entity else span.name
        reading.offer(tool_name=_without_suffix(name))
        if reading.arguments is MISSING:
            reading.arguments = attributes.get("tool.arguments", reading.inputs)
        reading.offer(tool_call_id=_call_id(reading.arguments))
        reading.arguments = _unwrapped(reading.arguments)
        if reading.result is MISSING:
            reading.result = reading.outputs
        if reading.result is not MISSING:
            reading.result = result_of(reading.result)
    elif reading.kind == "agent":
        reading.offer(agent_name=_without_suffix(str(entity or span.name)))
    _unwrap_entity(reading)


def _unwrap_entity(reading: Reading) -> None:
    """LangChain's callbacks wrap what went in as ``{"inputs", "tags", …}`` and what came out as ``{"outputs"}``."""
    inputs, outputs = undo_json(reading.inputs), undo_json(reading.outputs)
    if isinstance(inputs, dict) and "inputs" in inputs and "tags" in inputs:
        reading.inputs = inputs["inputs"]
    if isinstance(outputs, dict) and "outputs" in outputs:
        reading.outputs = outputs["outputs"]
    elif reading.outputs is not MISSING:
        reading.outputs = undo_json_fully(outputs)


def _unwrapped(arguments: object) -> object:
    return arguments if arguments is MISSING else arguments_of(arguments)


def _call_id(arguments: object) -> object:
    """LangChain's callbacks keep the id of the call beside its arguments."""
    wrapped = undo_json(arguments)
    keywords = wrapped.get("kwargs") if isinstance(wrapped, dict) and "input_str" in wrapped else None
    return keywords.get("tool_call_id") if isinstance(keywords, dict) else None


def _without_suffix(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


CONVENTION: Final = Convention(
    name="traceloop",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=(
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.thread_id",
        "traceloop.association.properties.conversation_id",
        "traceloop.association.properties.chat_id",
    ),
    consumed=("traceloop.entity.input", "traceloop.entity.output"),
)
