"""LangSmith's OpenTelemetry exporter: every run is a span, ``gen_ai.prompt`` and ``gen_ai.completion`` its JSON."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.conventions.values import arguments_of, result_of
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "gen_ai.prompt": "inputs",
    "gen_ai.completion": "outputs",
    "langsmith.metadata.ls_provider": "provider",
    "langsmith.metadata.ls_model_name": "requested_model",
    "langsmith.metadata.user_id": "user_id",
    "langsmith.metadata.lc_agent_name": "agent_name",
}

_KINDS: Final[dict[str, Kind]] = {
    "llm": "llm",
    "tool": "tool",
    "embedding": "embedding",
    "retriever": "retrieval",
}


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return any(key.startswith("langsmith.") for key in keys)


def _kind(span: Span, reading: Reading) -> Kind | None:
    attributes = span.attributes
    said = attributes.get("langsmith.span.kind")
    if not isinstance(said, str):
        return None
    if said == "chain" and _is_agent(span):
        return "agent"
    return _KINDS.get(said, "span")


def _is_agent(span: Span) -> bool:
    """A graph's own run: it names the agent, and no node of the graph."""
    attributes = span.attributes
    if attributes.get("langsmith.metadata.langgraph_node") is not None:
        return False
    return attributes.get("langsmith.metadata.lc_agent_name") == span.name or span.name == "LangGraph"


def _read(span: Span, reading: Reading) -> None:
    inputs, outputs = undo_json(reading.inputs), undo_json(reading.outputs)
    read_run(inputs, outputs, reading, span.name)
    if reading.kind == "llm":
        usage = span.attributes.get("langsmith.usage")
        if isinstance(usage, dict):
            read_usage(usage, reading)
        reading.offer(parameters=span.attributes.get("langsmith.invocation_params"))


def read_run(inputs: Any, outputs: Any, reading: Reading, name: str) -> None:
    """Give a reading the inputs and outputs of a LangSmith run."""
    if reading.kind == "llm":
        if inputs is not MISSING:
            reading.offer(messages_in=messages_of(inputs))
        if outputs is not MISSING and outputs != {}:
            reading.offer(messages_out=output_messages_of(outputs))
            _read_answer(outputs, reading)
        # `inputs` of a model call are its messages; nothing else is left in them
        reading.input_messages = reading.output_messages = None
    elif reading.kind == "tool":
        reading.offer(tool_name=name)
        if inputs is not MISSING:
            reading.offer(arguments=_tool_input(inputs))
        if outputs is not MISSING and outputs != {}:
            reading.offer(result=_tool_output(outputs))
    elif reading.kind == "agent":
        reading.offer(agent_name=name)


def _tool_input(inputs: Any) -> Any:
    if isinstance(inputs, dict) and set(inputs) == {"input"}:
        return arguments_of(inputs["input"])
    return arguments_of(inputs)


def _tool_output(outputs: Any) -> Any:
    if isinstance(outputs, dict) and set(outputs) == {"output"}:
        return result_of(outputs["output"])
    return result_of(outputs)


def _read_answer(outputs: Any, reading: Reading) -> None:
    """The id and usage that LangChain keeps inside the generation."""
    if not isinstance(outputs, dict):
        return
    extra = outputs.get("llm_output")
    if isinstance(extra, dict):
        reading.offer(response_id=extra.get("id"), model=extra.get("model_name"))
        usage = extra.get("token_usage")
        if isinstance(usage, dict):
            read_usage(usage, reading)
    usage = outputs.get("usage_metadata") or outputs.get("usage")
    if isinstance(usage, dict):
        read_usage(usage, reading)


CONVENTION: Final = Convention(
    name="langsmith",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=(
        "langsmith.metadata.session_id",
        "langsmith.metadata.thread_id",
        "langsmith.metadata.conversation_id",
    ),
    consumed=("gen_ai.prompt", "gen_ai.completion"),
)
