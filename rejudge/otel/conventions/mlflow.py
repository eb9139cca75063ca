"""MLflow: every attribute value is JSON text, ``"\\"AGENT\\""`` for AGENT."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.conventions.values import arguments_of, money, result_of
from rejudge.otel.span import Span
from rejudge.otel.text import parse_text

FIELDS: Final[dict[str, str]] = {
    "mlflow.spanInputs": "inputs",
    "mlflow.spanOutputs": "outputs",
    "mlflow.llm.model": "model",
    "mlflow.llm.provider": "provider",
    "mlflow.chat.tools": "tool_definitions",
    "mlflow.trace.user": "user_id",
}

_KINDS: Final[dict[str, Kind]] = {
    "CHAT_MODEL": "llm",
    "LLM": "llm",
    "TOOL": "tool",
    "AGENT": "agent",
    "EMBEDDING": "embedding",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
    "WORKFLOW": "workflow",
}
_PARAMETERS: Final = (
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
    "stop",
    "n",
    "presence_penalty",
    "frequency_penalty",
)


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return "mlflow.spanType" in keys or "mlflow.traceRequestId" in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    said = _undone(span.attributes.get("mlflow.spanType"))
    return _KINDS.get(said.upper(), "span") if isinstance(said, str) else None


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    for field in ("inputs", "outputs", "model", "provider", "tool_definitions", "user_id"):
        value = reading.__dict__.get(field)
        if isinstance(value, str):
            reading.__dict__[field] = _undone(value)
    if reading.kind == "llm":
        _read_call(attributes, reading)
    elif reading.kind == "tool":
        reading.offer(tool_name=_undone(attributes.get("mlflow.toolName")) or span.name)
        if reading.inputs is not MISSING:
            reading.offer(arguments=arguments_of(reading.inputs))
        reading.offer(result=reading.outputs if reading.outputs is MISSING else result_of(reading.outputs))
    elif reading.kind == "agent":
        reading.offer(agent_name=span.name)


def _read_call(attributes: dict[str, Any], reading: Reading) -> None:
    usage = _undone(attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, dict):
        read_usage({"total_tokens": None, **usage}, reading)
    cost = _undone(attributes.get("mlflow.llm.cost"))
    if isinstance(cost, dict):
        cost = cost.get("total_cost", cost.get("total"))
    reading.offer(cost=money(cost))
    inputs, outputs = reading.inputs, reading.outputs
    if inputs is not MISSING:
        reading.offer(messages_in=messages_of(inputs))
        if isinstance(inputs, dict):
            reading.offer(requested_model=inputs.get("model"), tool_definitions=inputs.get("tools"))
    if outputs is not MISSING:
        reading.offer(messages_out=output_messages_of(outputs))
        if isinstance(outputs, dict):
            reading.offer(response_id=outputs.get("id"), model=outputs.get("model"))
            if isinstance(outputs.get("usage"), dict):
                read_usage(outputs["usage"], reading)
    reading.offer(requested_model=_undone(attributes.get("model")))
    parameters = {name: _undone(attributes[name]) for name in _PARAMETERS if name in attributes}
    reading.offer(parameters=parameters or None)


def _undone(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return parse_text(value)
        except ValueError:
            return value
    return value


CONVENTION: Final = Convention(
    name="mlflow",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=("mlflow.trace.session",),
    consumed=("mlflow.chat.tokenUsage", "mlflow.llm.cost"),
)
