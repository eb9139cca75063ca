"""pydantic-ai's messages in the GenAI schema, and what was recorded as pydantic-ai's messages again."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import InstrumentationSettings
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from rejudge.models.canonical import JsonValue
from rejudge.replay import request as genai
from rejudge.replay.adapters.edits import changed_parameters, changed_system, changed_texts
from rejudge.replay.adapters.pydantic_ai_mcp import definition_of
from rejudge.replay.answers import ModelAnswer
from rejudge.replay.failures import plain_message, recorded_failure
from rejudge.replay.values import jsonable

_schema: Final = InstrumentationSettings(include_content=True, include_binary_content=True)
_events: Final[TypeAdapter[list[ModelResponseStreamEvent]]] = TypeAdapter(list[ModelResponseStreamEvent])
_NOT_RECORDED: Final = ("extra_headers", "extra_body", "timeout", "request_timeout", "first_event_timeout")
"""Settings that say how a request is sent, or may hold a secret."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model of pydantic-ai is asked with."""

    messages: list[ModelMessage]
    settings: ModelSettings | None
    parameters: ModelRequestParameters


def request_of(model: Model, asked: Asked) -> genai.ModelRequest:
    """The request in the GenAI schema."""
    settings = {**(model.settings or {}), **(asked.settings or {})}
    tools = [*asked.parameters.function_tools, *asked.parameters.output_tools]
    return genai.ModelRequest(
        model=model.model_name,
        messages=tuple(jsonable(_schema.messages_to_otel_messages(asked.messages))),
        system_instructions=tuple({"type": "text", "content": part.content} for part in _instructions(asked)),
        tools=tuple(definition_of(tool) for tool in tools),
        parameters={name: jsonable(value) for name, value in settings.items() if name not in _NOT_RECORDED},
        provider=model.system,
    )


def _instructions(asked: Asked) -> Sequence[InstructionPart]:
    if asked.parameters.instruction_parts is not None:
        return asked.parameters.instruction_parts
    said = [message.instructions for message in asked.messages if isinstance(message, ModelRequest)]
    return [InstructionPart(content=said[-1])] if said and said[-1] else []


def edited(asked: Asked, before: genai.ModelRequest, after: genai.ModelRequest) -> Asked:
    """What is asked, with what a fork changed."""
    messages, parameters = asked.messages, asked.parameters
    system = changed_system(before, after)
    if system is not None:
        messages, instructions = _with_system(messages, system)
        parameters = replace(parameters, instruction_parts=instructions)
    for text in changed_texts(before, after).values():
        messages = _with_prompt(messages, text)
    settings: dict[str, Any] = {**(asked.settings or {})}
    for name, value in changed_parameters(before, after).items():
        if value is None:
            settings.pop(name, None)
        else:
            settings[name] = value
    return Asked(messages, ModelSettings(**settings), parameters)  # type: ignore[typeddict-item]


def _with_system(messages: list[ModelMessage], text: str) -> tuple[list[ModelMessage], list[InstructionPart]]:
    """The messages with one system prompt, in the place of the first; or the instructions that say it."""
    found = False
    changed: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            parts: list[ModelRequestPart] = []
            for part in message.parts:
                if not isinstance(part, SystemPromptPart):
                    parts.append(part)
                elif not found:
                    found = True
                    parts.append(replace(part, content=text))
            message = replace(message, parts=parts, instructions=None)
        changed.append(message)
    return changed, [] if found else [InstructionPart(content=text)]


def _with_prompt(messages: list[ModelMessage], text: str) -> list[ModelMessage]:
    for place, message in enumerate(messages):
        for at, part in enumerate(message.parts if isinstance(message, ModelRequest) else ()):
            said = isinstance(part, UserPromptPart) and _saying(part.content, text)
            if said and isinstance(part, UserPromptPart) and isinstance(message, ModelRequest):
                parts = [*message.parts[:at], replace(part, content=said), *message.parts[at + 1 :]]
                return [*messages[:place], replace(message, parts=parts), *messages[place + 1 :]]
    return messages


def _saying(content: Any, text: str) -> Any:
    if isinstance(content, str):
        return text
    others = [item for item in content if not isinstance(item, str)]
    return [text, *others] if len(others) < len(content) else None


def recorded_response(
    response: ModelResponse, events: Sequence[ModelResponseStreamEvent] | None = None
) -> genai.ModelResponse:
    """A response in the GenAI schema, with all there is to it and the events that it was streamed by."""
    [whole] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    raw = {"pydantic_ai": whole}
    if events is not None:
        raw["events"] = _events.dump_python(list(events), mode="json")
    usage = response.usage
    return genai.ModelResponse(
        messages=tuple(jsonable(_schema.messages_to_otel_messages([response]))),
        model=response.model_name,
        response_id=response.provider_response_id,
        finish_reason=response.finish_reason,
        input_tokens=usage.input_tokens or None,
        output_tokens=usage.output_tokens or None,
        cached_input_tokens=usage.cache_read_tokens or None,
        cache_write_tokens=usage.cache_write_tokens or None,
        reasoning_tokens=usage.details.get("reasoning_tokens"),
        raw=raw,
    )


def response_of(recorded: genai.ModelResponse) -> ModelResponse:
    """The recorded response: what came, or one that says the same."""
    whole = recorded.raw.get("pydantic_ai") if isinstance(recorded.raw, dict) else None
    if whole is not None:
        try:
            [message] = ModelMessagesTypeAdapter.validate_python([whole])
            if isinstance(message, ModelResponse):
                return message
        except ValidationError:  # another version's
            pass
    parts = [part for message in recorded.messages for part in message.get("parts") or () if isinstance(part, dict)]
    return ModelResponse(
        parts=[part for place, raw in enumerate(parts) if (part := _part(raw, place)) is not None],
        usage=RequestUsage(
            input_tokens=recorded.input_tokens or 0,
            output_tokens=recorded.output_tokens or 0,
            cache_read_tokens=recorded.cached_input_tokens or 0,
            cache_write_tokens=recorded.cache_write_tokens or 0,
        ),
        model_name=recorded.model,
        provider_response_id=recorded.response_id,
        finish_reason=_REASONS.get(str(recorded.finish_reason).lower()),
    )


_REASONS: Final[dict[str, Any]] = {
    "stop": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
    "tool_call": "tool_call",
    "tool_calls": "tool_call",
    "tool_use": "tool_call",
}


def _part(raw: dict[str, Any], place: int) -> ModelResponsePart | None:
    kind = raw.get("type", "text")
    if kind == "tool_call":
        arguments = raw.get("arguments")
        return ToolCallPart(
            tool_name=str(raw.get("name") or ""),
            args=arguments if isinstance(arguments, dict | str) else {},
            tool_call_id=str(raw.get("id") or f"call_{place}"),
        )
    if kind == "reasoning":
        return ThinkingPart(content=str(raw.get("content") or ""))
    text = genai.text_of(raw)
    return None if text is None else TextPart(content=text)


def events_of(raw: JsonValue) -> list[ModelResponseStreamEvent] | None:
    """The events of a recorded stream; None where they are not recorded."""
    events = raw.get("events") if isinstance(raw, dict) else None
    try:
        return _events.validate_python(events) if events else None
    except ValidationError:  # another version's
        return None


def failed_response(failure: Exception) -> genai.ModelResponse:
    """What is recorded of a failure beside its class and text."""
    if not isinstance(failure, ModelAPIError):
        return genai.ModelResponse(messages=())
    facts: dict[str, JsonValue] = {"model_name": failure.model_name}
    if isinstance(failure, ModelHTTPError):
        facts = {**facts, "status_code": failure.status_code, "body": jsonable(failure.body)}
    return genai.ModelResponse(messages=(), raw={"failure": facts})


def failure_of(answer: ModelAnswer) -> Exception:
    """The recorded failure."""
    raw = answer.response.raw
    facts = raw.get("failure") if isinstance(raw, dict) else None
    if not isinstance(facts, dict):
        facts = _told(plain_message(answer.error_type, answer.error or ""))
    if facts is None:
        return recorded_failure(answer.error_type, answer.error or "")
    name = str(facts.get("model_name"))
    if "status_code" in facts:
        return ModelHTTPError(facts["status_code"], name, facts.get("body"))
    return ModelAPIError(name, answer.error or "")


_HTTP: Final = re.compile(r"status_code: (\d{3}), model_name: (.*?), body: (.*)", re.DOTALL)


def _told(text: str) -> dict[str, Any] | None:
    """What the text of an HTTP failure says; None where it is none."""
    told = _HTTP.fullmatch(text)
    if told is None:
        return None
    try:
        body = ast.literal_eval(told[3])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        body = told[3]
    return {"status_code": int(told[1]), "model_name": told[2], "body": body}
