"""Vercel's AI SDK up to 6 (``ai.*``); from 7 on it speaks GenAI."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.messages import messages_of
from rejudge.otel.conventions.parts import Part, text_part, tool_call_part
from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

FIELDS: Final[dict[str, str]] = {
    "ai.response.model": "model",
    "ai.model.id": "requested_model",
    "ai.model.provider": "provider",
    "ai.response.id": "response_id",
    "ai.response.finishReason": "finish_reasons",
    "ai.finishReason": "finish_reasons",
    "ai.usage.inputTokens": "input_tokens",
    "ai.usage.promptTokens": "input_tokens",
    "ai.usage.tokens": "input_tokens",
    "ai.usage.outputTokens": "output_tokens",
    "ai.usage.completionTokens": "output_tokens",
    "ai.usage.inputTokenDetails.cacheReadTokens": "cached_input_tokens",
    "ai.usage.cachedInputTokens": "cached_input_tokens",
    "ai.usage.inputTokenDetails.cacheWriteTokens": "cache_write_tokens",
    "ai.usage.outputTokenDetails.reasoningTokens": "reasoning_tokens",
    "ai.usage.reasoningTokens": "reasoning_tokens",
    "ai.toolCall.name": "tool_name",
    "ai.toolCall.id": "tool_call_id",
    "ai.toolCall.args": "arguments",
    "ai.toolCall.input": "arguments",
    "ai.toolCall.result": "result",
    "ai.toolCall.output": "result",
    "ai.telemetry.functionId": "agent_name",
    "ai.telemetry.metadata.userId": "user_id",
}

_CALLS: Final = (".doGenerate", ".doStream")
_RUNS: Final = frozenset(
    {"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject", "ai.toolLoopAgent", "ai.agent"}
)


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return "ai.operationId" in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    operation = span.attributes.get("ai.operationId")
    if not isinstance(operation, str):
        return None
    if operation.endswith(_CALLS):
        return "llm"
    if operation == "ai.toolCall":
        return "tool"
    if operation in _RUNS:
        return "agent"
    if operation.endswith(".doEmbed") or operation.startswith("ai.embed"):
        return "embedding"
    return "span"


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    prompt = undo_json(attributes.get("ai.prompt.messages"))
    whole = undo_json(attributes.get("ai.prompt"))
    if prompt is None and isinstance(whole, dict):
        prompt = whole.get("messages") or whole.get("prompt")
        if reading.system_instructions is None:
            reading.system_instructions = whole.get("system")
    if prompt:
        reading.offer(messages_in=messages_of(prompt))
    answer = _answer(attributes)
    if answer:
        message: dict[str, Any] = {"role": "assistant", "parts": answer}
        reason = attributes.get("ai.response.finishReason", attributes.get("ai.finishReason"))
        if isinstance(reason, str):
            message["finish_reason"] = reason
        reading.offer(messages_out=[message])
    tools = attributes.get("ai.prompt.tools")
    if isinstance(tools, list) and tools:
        reading.offer(tool_definitions=[undo_json(tool) for tool in tools])
    parameters = {
        key.removeprefix("ai.settings."): value for key, value in attributes.items() if key.startswith("ai.settings.")
    }
    reading.offer(parameters=parameters or None)


def _answer(attributes: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    reasoning = attributes.get("ai.response.reasoning")
    if isinstance(reasoning, str) and reasoning:
        parts.append({"type": "reasoning", "content": reasoning})
    for key in ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"):
        text = attributes.get(key)
        if isinstance(text, str) and text:
            parts.append(text_part(text))
            break
    calls = undo_json(attributes.get("ai.response.toolCalls", attributes.get("ai.result.toolCalls")))
    if isinstance(calls, list):
        parts += [
            part
            for call in calls
            if isinstance(call, dict)
            and (part := tool_call_part({**call, "name": call.get("toolName", call.get("name"))})) is not None
        ]
    return parts


CONVENTION: Final = Convention(
    name="vercel",
    claims=_claims,
    fields=FIELDS,
    kind=_kind,
    read=_read,
    sessions=(
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.session_id",
        "ai.telemetry.metadata.threadId",
        "ai.telemetry.metadata.conversationId",
        "ai.telemetry.metadata.chatId",
    ),
    consumed=("ai.prompt", "ai.response.text", "ai.response.toolCalls", "ai.response.object", "ai.settings."),
)
