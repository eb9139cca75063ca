"""OpenInference (Arize): https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md"""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.flat import indexed
from rejudge.otel.conventions.messages import Message
from rejudge.otel.conventions.parts import Part, parts_of, text_part
from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.values import arguments_of, message_call_id, result_of
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json, undo_json_fully

FIELDS: Final[dict[str, str]] = {
    "llm.model_name": "model",
    "embedding.model_name": "model",
    "llm.provider": "provider",
    "llm.system": "system",
    "llm.token_count.prompt": "input_tokens",
    "llm.token_count.completion": "output_tokens",
    "llm.token_count.prompt_details.cache_read": "cached_input_tokens",
    "llm.token_count.prompt_details.cache_write": "cache_write_tokens",
    "llm.token_count.prompt_details.audio": "input_audio_tokens",
    "llm.token_count.completion_details.reasoning": "reasoning_tokens",
    "llm.token_count.completion_details.audio": "output_audio_tokens",
    "llm.cost.total": "cost",
    "llm.finish_reason": "finish_reasons",
    "tool.name": "tool_name",
    "tool.id": "tool_call_id",
    "tool_call.id": "tool_call_id",
    "agent.name": "agent_name",
    "user.id": "user_id",
    "input.value": "inputs",
    "output.value": "outputs",
}

_KINDS: Final[dict[str, Kind]] = {
    "LLM": "llm",
    "TOOL": "tool",
    "AGENT": "agent",
    "EMBEDDING": "embedding",
    "RETRIEVER": "retrieval",
    "RERANKER": "retrieval",
}
_HIDDEN: Final = "__REDACTED__"


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return "openinference.span.kind" in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    said = span.attributes.get("openinference.span.kind")
    kind = _KINDS.get(said.upper(), "span") if isinstance(said, str) else None
    if kind == "llm" and not _is_a_call(span):
        return "agent" if "invoke_agent" in span.name else "span"
    return kind


def _is_a_call(span: Span) -> bool:
    """False for what an instrumentation labels LLM though no model is called by it."""
    return not span.name.startswith("invoke_agent")  # Google ADK's agent span


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if reading.kind == "llm":
        _read_call(attributes, reading)
    elif reading.kind == "tool":
        if reading.tool_name is None:
            reading.tool_name = attributes.get("tool_call.function.name") or span.name
        arguments = reading.inputs
        if arguments is MISSING:
            arguments = attributes.get("tool_call.function.arguments", MISSING)
        if arguments is not MISSING:
            reading.offer(arguments=arguments_of(undo_json(arguments)))
        if reading.outputs is not MISSING:
            reading.offer(result=result_of(reading.outputs), tool_call_id=message_call_id(reading.outputs))
    elif reading.kind == "agent" and reading.agent_name is None:
        reading.agent_name = attributes.get("graph.node.name") or attributes.get("graph.node.id")
    if reading.inputs == _HIDDEN or reading.outputs == _HIDDEN:
        reading.incomplete = "redacted"


def _read_call(attributes: dict[str, Any], reading: Reading) -> None:
    if "llm.input_messages.0.message.role" in attributes or any(
        key.startswith("llm.input_messages.") for key in attributes
    ):
        reading.offer(messages_in=_messages(attributes, "llm.input_messages."))
    elif "llm.prompts.0.prompt.text" in attributes:
        prompts = indexed(attributes, "llm.prompts.")
        reading.offer(messages_in=[{"role": "user", "parts": parts_of(item.get("prompt.text"))} for item in prompts])
    elif reading.inputs is not MISSING:
        reading.offer(input_messages=reading.inputs)
    if any(key.startswith("llm.output_messages.") for key in attributes):
        reading.offer(messages_out=_messages(attributes, "llm.output_messages.", "assistant"))
    elif reading.outputs is not MISSING:
        reading.offer(output_messages=reading.outputs)
    parameters = undo_json(attributes.get("llm.invocation_parameters"))
    # Some write the whole response there; those are no parameters.
    if isinstance(parameters, dict) and "output" not in parameters:
        model = parameters.get("model")
        reading.offer(parameters=parameters, requested_model=model if isinstance(model, str) else None)
    if reading.tool_definitions is None and "llm.tools.0.tool.json_schema" in attributes:
        reading.tool_definitions = [
            undo_json(tool.get("tool.json_schema")) for tool in indexed(attributes, "llm.tools.")
        ]
    _read_response(reading)


def _read_response(reading: Reading) -> None:
    """What only the raw answer in ``output.value`` says: its id."""
    output = reading.outputs
    if reading.response_id is None and isinstance(output, str) and output.startswith('{"id":'):
        identity = output[6:140].lstrip(' "').split('"', 1)[0]
        if identity and len(identity) < 128:
            reading.response_id = identity
    elif reading.response_id is None and isinstance(output, str) and output.startswith('{"generations":'):
        # LangChain's result: the vendor's id lies deep in it, and looks like no other.
        for prefix in _VENDOR_IDS:
            start = output.find(prefix)
            if start >= 0:
                reading.response_id = output[start + 1 : start + 128].partition('"')[0]
                break


_VENDOR_IDS: Final = ('"chatcmpl-', '"resp_', '"msg_')


def _messages(attributes: dict[str, Any], prefix: str, role: str = "user") -> list[Message]:
    return [_message(flat, role) for flat in indexed(attributes, prefix)]


def _message(flat: dict[str, Any], role: str) -> Message:
    said = flat.get("message.role")
    said = said if isinstance(said, str) and said else role
    said = _ROLES.get(said, said)
    content = flat.get("message.content")
    parts = [text_part(content)] if isinstance(content, str) and content else parts_of(content)
    if "message.contents.0.message_content.type" in flat:
        more = [_content_part(item) for item in indexed(flat, "message.contents.")]
        parts += [part for part in more if part not in parts]  # some write the text both ways
    if said == "tool":
        response = "\n".join(part.get("content") or "" for part in parts if part.get("type") == "text")
        answer = {
            "type": "tool_call_response",
            "id": flat.get("message.tool_call_id"),
            "response": undo_json_fully(response) if response else None,
        }
        name = flat.get("message.name")
        return {"role": "tool", "parts": [{**answer, "name": name} if name else answer]}
    if any(key.startswith("message.tool_calls.") for key in flat):
        calls = [_call_part(call) for call in indexed(flat, "message.tool_calls.")]
        parts += [call for call in calls if call not in parts]
    message: Message = {"role": said, "parts": parts}
    if flat.get("message.name"):
        message["name"] = flat["message.name"]
    return message


_ROLES: Final = {"tool-response": "tool", "function": "tool", "tool-call": "assistant", "model": "assistant"}


def _call_part(flat: dict[str, Any]) -> Part:
    name = flat.get("tool_call.function.name")
    # Empty arguments are not written.
    arguments = flat.get("tool_call.function.arguments", {} if name else None)
    return {
        "type": "tool_call",
        "id": flat.get("tool_call.id"),
        "name": name,
        "arguments": undo_json(arguments),
    }


def _content_part(flat: dict[str, Any]) -> Part:
    text = flat.get("message_content.text")
    kind = flat.get("message_content.type")
    if kind == "tool_use" and "tool_call.function.name" in flat:
        return _call_part(flat)
    if isinstance(text, str):
        return {"type": "reasoning", "content": text} if kind == "reasoning" else text_part(text)
    rest = {key.removeprefix("message_content."): value for key, value in flat.items()}
    return {**rest, "type": rest.get("type", "generic")}


CONVENTION: Final = Convention(
    name="openinference",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=("session.id",),
    consumed=(
        "llm.input_messages.",
        "llm.output_messages.",
        "llm.tools.",
        "llm.invocation_parameters",
        "llm.prompts.",
    ),
)
