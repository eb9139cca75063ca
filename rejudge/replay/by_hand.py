"""Model calls of agents without instrumentation, put on record by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from rejudge.models.canonical import JsonValue
from rejudge.otel.conventions.messages import messages_of, output_messages_of
from rejudge.replay.calls import call_model
from rejudge.replay.request import ModelRequest, ModelResponse, text_of


def model_call(
    model: str,
    messages: Sequence[Mapping[str, Any]] | str,
    send: Callable[[ModelRequest], ModelResponse | Mapping[str, Any] | str],
    *,
    system: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    parameters: Mapping[str, JsonValue] | None = None,
    provider: str | None = None,
) -> ModelResponse:
    """Ask a model on record: live, from the tape, or with a fork's override.

    Args:
        messages: A conversation in OpenAI's, Anthropic's or the GenAI schema, or a user's text.
        send: Sends the request it is given (`chat_messages` gives its messages in OpenAI's form). What it returns may
            be a `ModelResponse`, the body of a chat completion or a message, or a text.

    Returns:
        The answer; ``text``, ``tool_calls`` and ``raw`` (the body, where ``send`` gave one) are what an agent needs.

    Example:
        >>> model_call("desk", "Hello", lambda request: "Hi there").text
        'Hi there'
    """
    request = ModelRequest(
        model=model,
        messages=tuple(messages_of([messages] if isinstance(messages, str) else [dict(one) for one in messages])),
        system_instructions=({"type": "text", "content": system},) if system else (),
        tools=tuple(dict(tool) for tool in tools) if tools is not None else None,
        parameters=dict(parameters or {}),
        provider=provider,
    )
    return call_model(request, lambda asked: response_of(send(asked)))


def response_of(answer: ModelResponse | Mapping[str, Any] | str) -> ModelResponse:
    """A model's answer out of what a client returned: a response, a body of OpenAI's or Anthropic's API, a text."""
    if isinstance(answer, ModelResponse):
        return answer
    messages = tuple(output_messages_of(dict(answer) if isinstance(answer, Mapping) else answer))
    if isinstance(answer, str):
        return ModelResponse(messages=messages)
    usage = answer.get("usage") or {}
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    reasons = [str(message["finish_reason"]) for message in messages if message.get("finish_reason")]
    return ModelResponse(
        messages=messages,
        model=answer.get("model"),
        response_id=answer.get("id"),
        finish_reason=answer.get("stop_reason") or (reasons[0] if reasons else None),
        input_tokens=usage.get("prompt_tokens", usage.get("input_tokens")),
        output_tokens=usage.get("completion_tokens", usage.get("output_tokens")),
        cached_input_tokens=details.get("cached_tokens", usage.get("cache_read_input_tokens")),
        raw=dict(answer),
    )


def chat_messages(request: ModelRequest) -> list[dict[str, Any]]:
    """The request's messages as OpenAI's chat completions API takes them, the system prompt first."""
    system = request.system_text
    chat: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
    for message in request.messages:
        if message.get("role") not in {"system", "developer"}:
            chat.extend(_chat_turns(message))
    return chat


def _chat_turns(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    parts = list(message.get("parts") or ())
    results = [
        {"role": "tool", "tool_call_id": part.get("id"), "content": _text(part.get("response", part.get("result")))}
        for part in parts
        if part.get("type") == "tool_call_response"
    ]
    calls = [
        {
            "id": part.get("id"),
            "type": "function",
            "function": {"name": part.get("name"), "arguments": _text(part.get("arguments") or {})},
        }
        for part in parts
        if part.get("type") == "tool_call"
    ]
    text = "".join(text for part in parts if (text := text_of(part)))
    if not text and not calls:
        return results
    turn: dict[str, Any] = {"role": message.get("role", "user"), "content": text or None}
    return [*results, {**turn, "tool_calls": calls} if calls else turn]


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
