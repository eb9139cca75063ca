"""OpenTelemetry's GenAI semantic conventions, of all ages: https://github.com/open-telemetry/semantic-conventions-genai"""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.flat import indexed, numbered_messages
from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "gen_ai.operation.name": "operation",
    "gen_ai.provider.name": "provider",
    "gen_ai.system": "system",
    "gen_ai.response.model": "model",
    "gen_ai.request.model": "requested_model",
    "gen_ai.response.id": "response_id",
    "gen_ai.response.finish_reasons": "finish_reasons",
    "gen_ai.response.finish_reason": "finish_reasons",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.prompt_tokens": "input_tokens",
    "llm.usage.prompt_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.completion_tokens": "output_tokens",
    "llm.usage.completion_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_input_tokens",
    "gen_ai.usage.cache_read_input_tokens": "cached_input_tokens",
    "gen_ai.usage.details.cache_read_tokens": "cached_input_tokens",
    "gen_ai.usage.details.cached_tokens": "cached_input_tokens",
    "gen_ai.usage.cached_input_tokens": "cached_input_tokens",
    "gen_ai.usage.input_tokens.cached": "cached_input_tokens",
    "gen_ai.usage.cache_write.input_tokens": "cache_write_tokens",
    "gen_ai.usage.cache_creation.input_tokens": "cache_write_tokens",
    "gen_ai.usage.cache_creation_input_tokens": "cache_write_tokens",
    "gen_ai.usage.cache_write_input_tokens": "cache_write_tokens",
    "gen_ai.usage.details.cache_write_tokens": "cache_write_tokens",
    "gen_ai.usage.details.cache_creation_input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
    "gen_ai.usage.reasoning_tokens": "reasoning_tokens",
    "gen_ai.usage.details.reasoning_tokens": "reasoning_tokens",
    "gen_ai.usage.experimental.reasoning_tokens": "reasoning_tokens",
    "gen_ai.usage.output_tokens.reasoning": "reasoning_tokens",
    "llm.usage.reasoning_tokens": "reasoning_tokens",
    "gen_ai.usage.details.input_audio_tokens": "input_audio_tokens",
    "gen_ai.usage.details.output_audio_tokens": "output_audio_tokens",
    "operation.cost": "cost",
    "gen_ai.usage.cost": "cost",
    "gen_ai.cost.total_cost": "cost",
    "gen_ai.tool.name": "tool_name",
    "gen_ai.tool.call.id": "tool_call_id",
    "gen_ai.tool.call_id": "tool_call_id",
    "gen_ai.tool.call.arguments": "arguments",
    "gen_ai.tool.args": "arguments",
    "gen_ai.tool.call.result": "result",
    "gen_ai.agent.name": "agent_name",
    "gen_ai.agent.id": "agent_id",
    "gen_ai.input.messages": "input_messages",
    "gen_ai.output.messages": "output_messages",
    "gen_ai.system_instructions": "system_instructions",
    "gen_ai.tool.definitions": "tool_definitions",
    "gen_ai.request.available_tools": "tool_definitions",
    "gen_ai.user.id": "user_id",
    "enduser.id": "user_id",
    "user.id": "user_id",
    "error.type": "error_type",
}

_OPERATIONS: Final[dict[str, Kind]] = {
    "chat": "llm",
    "text_completion": "llm",
    "completion": "llm",
    "generate_content": "llm",
    "generate": "llm",
    "llm_call": "llm",
    "call_llm": "llm",
    "responses": "llm",
    "embeddings": "embedding",
    "embedding": "embedding",
    "execute_tool": "tool",
    "tool_call": "tool",
    "invoke_agent": "agent",
    "create_agent": "drop",
    "invoke_workflow": "workflow",
    "invoke_swarm": "workflow",
    "invoke_graph": "workflow",
    "retrieval": "retrieval",
    "retrieve": "retrieval",
}

_PARAMETERS: Final[dict[str, str]] = {
    "gen_ai.request.temperature": "temperature",
    "gen_ai.request.top_p": "top_p",
    "gen_ai.request.top_k": "top_k",
    "gen_ai.request.max_tokens": "max_tokens",
    "gen_ai.request.frequency_penalty": "frequency_penalty",
    "gen_ai.request.presence_penalty": "presence_penalty",
    "gen_ai.request.stop_sequences": "stop_sequences",
    "gen_ai.request.seed": "seed",
    "gen_ai.request.choice.count": "choice_count",
    "gen_ai.request.stream": "stream",
    "gen_ai.is_streaming": "stream",
    "llm.is_streaming": "stream",
    "gen_ai.output.type": "output_type",
    "gen_ai.request.encoding_formats": "encoding_formats",
    "gen_ai.request.reasoning_effort": "reasoning_effort",
}


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return any(key.startswith(("gen_ai.", "llm.request.", "llm.usage.")) for key in keys)


def _kind(span: Span, reading: Reading) -> Kind | None:
    operation = reading.operation
    if isinstance(operation, str) and operation:
        known = _OPERATIONS.get(operation)
        if known is None:
            return "span"
        if known == "workflow" and span.attributes.get("gen_ai.workflow.nested"):
            return "span"
        return known
    if "gen_ai.prompt.0.role" in span.attributes and "gen_ai.request.model" in span.attributes:
        return None if _told_elsewhere(span) else "llm"
    return None


def _told_elsewhere(span: Span) -> bool:
    """True for a span that says what it is under a name from before ``gen_ai.operation.name``."""
    return "llm.request.type" in span.attributes or "traceloop.span.kind" in span.attributes


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if reading.kind == "llm":
        parameters = {name: attributes[key] for key, name in _PARAMETERS.items() if attributes.get(key) is not None}
        if parameters:
            reading.parameters = {**parameters, **(reading.parameters or {})}
        _read_old_content(attributes, reading)


_OLD_ANSWERS: Final = frozenset(
    f"gen_ai.completion.0.{name}" for name in ("role", "content", "finish_reason", "tool_calls.0.name")
)


def _read_old_content(attributes: dict[str, Any], reading: Reading) -> None:
    """Content from before ``gen_ai.input.messages``: ``gen_ai.prompt.N.…``, or one blob."""
    if "gen_ai.prompt.0.role" in attributes or "gen_ai.prompt.0.content" in attributes:
        reading.offer(messages_in=numbered_messages(attributes, "gen_ai.prompt."))
    if not _OLD_ANSWERS.isdisjoint(attributes):
        reading.offer(messages_out=numbered_messages(attributes, "gen_ai.completion.", role="assistant"))
        if reading.finish_reasons is None:
            reading.finish_reasons = attributes.get("gen_ai.completion.0.finish_reason")
    reading.offer(input_messages=attributes.get("gen_ai.prompt"), output_messages=attributes.get("gen_ai.completion"))
    if reading.tool_definitions is None and "llm.request.functions.0.name" in attributes:
        functions = indexed(attributes, "llm.request.functions.")
        reading.tool_definitions = [
            {**function, "parameters": undo_json(function.get("parameters"))} for function in functions
        ]


CONVENTION: Final = Convention(
    name="genai",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=("session.id", "gen_ai.conversation.id"),
    consumed=("gen_ai.prompt", "gen_ai.completion", "gen_ai.request.", "llm.request.functions."),
)
