"""deepset Haystack's own tracing: everything under ``haystack.*``, no GenAI attribute at all."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.conventions.usage import read_usage
from rejudge.otel.conventions.values import result_of
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "haystack.tool.name": "tool_name",
    "haystack.agent.step.tool.input": "arguments",
    "haystack.agent.step.tool.output": "result",
    "haystack.agent.input": "inputs",
    "haystack.agent.output": "outputs",
    "haystack.component.input": "inputs",
    "haystack.component.output": "outputs",
    "haystack.pipeline.input_data": "inputs",
    "haystack.pipeline.output_data": "outputs",
}
_GENERATORS: Final = ("Generator",)
_EMBEDDERS: Final = ("Embedder",)


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return any(key.startswith("haystack.") for key in keys) or scope == "haystack"


def _kind(span: Span, reading: Reading) -> Kind | None:
    name = span.name
    if name == "haystack.agent.step.llm":
        return "llm"
    if name == "haystack.agent.step.tool":
        return "tool"
    if name == "haystack.agent.run":
        return "agent"
    component = span.attributes.get("haystack.component.type")
    if isinstance(component, str):
        if component.endswith(_GENERATORS):
            return "llm"
        if component.endswith(_EMBEDDERS):
            return "embedding"
        if component == "ToolInvoker":
            return "tool"
        if component.endswith("Retriever"):
            return "retrieval"
    return "workflow" if name == "haystack.pipeline.run" else "span"


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if attributes.get("haystack.component.type") == "ToolInvoker":
        return _read_invoker(reading)
    if reading.kind == "llm":
        given = attributes.get("haystack.agent.step.llm.input", attributes.get("haystack.component.input"))
        answer = attributes.get("haystack.agent.step.llm.output", attributes.get("haystack.component.output"))
        _read_call(undo_json(given), undo_json(answer), reading)
    elif reading.kind == "tool" and attributes.get("haystack.tool.error") is True:
        reading.failed = True
        result = undo_json(reading.result)
        reading.offer(error=result.get("error") if isinstance(result, dict) else result)
    elif reading.kind == "agent":
        _read_agent(attributes, reading)


def _read_agent(attributes: dict[str, Any], reading: Reading) -> None:
    name = attributes.get("haystack.agent.name")
    reading.offer(agent_name=name if isinstance(name, str) else "agent")
    given, answer = (
        undo_json(attributes.get("haystack.agent.input")),
        undo_json(attributes.get("haystack.agent.output")),
    )
    if isinstance(given, dict):
        reading.offer(messages_in=messages_of(given))
    if isinstance(answer, dict) and isinstance(answer.get("messages"), list):
        reading.offer(messages_out=messages_of(answer["messages"])[-1:])


def _read_call(given: Any, answer: Any, reading: Reading) -> None:
    if isinstance(given, dict):
        reading.offer(messages_in=messages_of(given.get("messages", given.get("prompt"))) or None)
        reading.offer(tool_definitions=given.get("tools") if isinstance(given.get("tools"), list) else None)
    if not isinstance(answer, dict):
        return
    reading.offer(messages_out=output_messages_of(answer))
    replies, metas = answer.get("replies"), answer.get("meta")
    meta = metas[0] if isinstance(metas, list) and metas else None
    if isinstance(replies, list) and replies and isinstance(replies[0], dict):
        meta = replies[0].get("meta", replies[0].get("_meta", meta))
    if isinstance(meta, dict):
        reading.offer(model=meta.get("model"), finish_reasons=meta.get("finish_reason"), response_id=meta.get("id"))
        usage = meta.get("usage")
        if isinstance(usage, dict):
            read_usage(usage, reading)


def _read_invoker(reading: Reading) -> None:
    """One span for all the calls of a turn: the calls are in its input, the results in its output."""
    given, answer = undo_json(reading.inputs), undo_json(reading.outputs)
    results = _results(answer)
    calls = [
        part
        for message in messages_of(given.get("messages") if isinstance(given, dict) else None)
        for part in message["parts"]
        if part.get("type") == "tool_call"
    ]
    readings = []
    for position, call in enumerate(calls):
        result = results.get(call["id"]) or (list(results.values())[position] if position < len(results) else None)
        one = reading if position == 0 else Reading()
        one.kind, one.tool_name, one.tool_call_id = "tool", call["name"], call["id"]
        one.arguments = call["arguments"]
        if result is not None:
            one.result = result_of(result.get("result"))
            one.failed = result.get("error") is True
            one.error = str(one.result) if one.failed else None
        readings.append(one)
    reading.extra_calls = readings[1:]
    if not readings:
        reading.kind = "span"  # nothing was called, or content was not captured


def _results(answer: Any) -> dict[Any, dict[str, Any]]:
    """What the tools answered, by the id of the call."""
    found: dict[Any, dict[str, Any]] = {}
    messages = answer.get("tool_messages") if isinstance(answer, dict) else None
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content", message.get("_content")) if isinstance(message, dict) else None
        for item in content if isinstance(content, list) else []:
            result = item.get("tool_call_result") if isinstance(item, dict) else None
            if isinstance(result, dict):
                origin = result.get("origin")
                identity = origin.get("id") if isinstance(origin, dict) else None
                found[identity if identity is not None else len(found)] = result
    return found


CONVENTION: Final = Convention(
    name="haystack",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    consumed=(
        "haystack.agent.step.llm.",
        "haystack.component.input_types",
        "haystack.component.input_spec",
        "haystack.component.output_spec",
    ),
)
