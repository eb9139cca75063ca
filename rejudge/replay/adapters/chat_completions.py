"""OpenAI's chat completions on the wire. https://platform.openai.com/docs/api-reference/chat"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rejudge.otel.conventions.messages import message_of, output_messages_of
from rejudge.replay.adapters.edits import (
    changed_parameters,
    changed_system,
    changed_texts,
    parameters_of,
    with_parameters,
    with_system_item,
    with_texts,
)
from rejudge.replay.adapters.wire import Body, argument_text, encoded, finish_reason_of, whole_number
from rejudge.replay.request import ModelRequest, ModelResponse, text_of

_SPELLINGS: Final = {"max_completion_tokens": "max_tokens", "stop": "stop_sequences", "n": "choice_count"}
_NO_PARAMETERS: Final = frozenset({"model", "messages", "tools", "functions", "stream", "stream_options"})
_REASONS: Final = {"length": "length", "max_tokens": "length", "content_filter": "content_filter", "refusal": "stop"}


class ChatCompletions:
    """See `rejudge.replay.adapters.wire.Wire`."""

    path = "/chat/completions"
    library = "openai"

    def request_of(self, body: Body) -> ModelRequest:
        """See `Wire`."""
        tools = body.get("tools")
        return ModelRequest(
            model=str(body.get("model") or ""),
            messages=tuple(message_of(item) for item in body.get("messages") or ()),
            tools=tuple(tools) if isinstance(tools, list) else None,
            parameters=parameters_of(body, _SPELLINGS, _NO_PARAMETERS),
            provider="openai",
        )

    def edited(self, body: Body, before: ModelRequest, after: ModelRequest) -> Body:
        """See `Wire`."""
        items = with_texts(body.get("messages") or (), changed_texts(before, after))
        system = changed_system(before, after)
        if system is not None:
            items = with_system_item(items, system) or [{"role": "system", "content": system}, *items]
        # Not every server knows max_completion_tokens: it is written where the agent writes it.
        spellings = {name: meant for name, meant in _SPELLINGS.items() if meant != "max_tokens" or name in body}
        edited = with_parameters(body, changed_parameters(before, after), spellings)
        return {**edited, "model": after.model, "messages": items}

    def response_of(self, body: Body) -> ModelResponse:
        """See `Wire`."""
        messages = tuple(output_messages_of(body)) if body.get("choices") else ()
        usage = body.get("usage") or {}
        return ModelResponse(
            messages=messages,
            model=body.get("model"),
            response_id=body.get("id"),
            finish_reason=messages[0].get("finish_reason") if messages else None,
            input_tokens=whole_number(usage, "prompt_tokens"),
            output_tokens=whole_number(usage, "completion_tokens"),
            cached_input_tokens=whole_number(usage, "prompt_tokens_details", "cached_tokens"),
            reasoning_tokens=whole_number(usage, "completion_tokens_details", "reasoning_tokens"),
            raw=body,
        )

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """See `Wire`."""
        return isinstance(body.get("choices"), list) and body.get("object") != "chat.completion.chunk"

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """See `Wire`."""
        return isinstance(chunk.get("choices"), list) and chunk.get("object") == "chat.completion.chunk"

    def joined(self, chunks: Sequence[Body]) -> Body:
        """See `Wire`."""
        choices: dict[int, Body] = {}
        joined: Body = {"object": "chat.completion"}
        for chunk in chunks:
            joined.update(
                {
                    name: value
                    for name, value in chunk.items()
                    if value is not None and name not in ("object", "choices")
                }
            )
            for piece in chunk.get("choices") or ():
                choice = choices.setdefault(
                    piece.get("index", 0), {"message": {"role": "assistant", "content": None}}
                )
                _add(choice["message"], piece.get("delta") or {})
                choice["finish_reason"] = piece.get("finish_reason") or choice.get("finish_reason")
        joined["choices"] = [
            {"index": index, "logprobs": None, **choices[index], "message": _listed(choices[index]["message"])}
            for index in sorted(choices)
        ]
        return joined

    def rebuilt(self, response: ModelResponse, asked: Body) -> Body:
        """See `Wire`."""
        messages = response.messages or ({"role": "assistant", "parts": []},)
        body: Body = {
            "id": response.response_id or "chatcmpl-recorded",
            "object": "chat.completion",
            "created": 0,
            "model": response.model or str(asked.get("model") or ""),
            "choices": [_choice(response, message, index) for index, message in enumerate(messages)],
        }
        usage = _usage(response)
        return body if usage is None else {**body, "usage": usage}

    def chunks_of(self, answer: Body, asked: Body) -> list[Body]:
        """See `Wire`."""
        shared: Body = {name: answer[name] for name in ("id", "created", "model", "service_tier") if name in answer}
        shared["object"] = "chat.completion.chunk"
        chunks = [
            {**shared, "choices": [{"index": choice.get("index", 0), "finish_reason": None, **piece}]}
            for choice in answer.get("choices") or ()
            for piece in _pieces(choice)
        ]
        wants_usage = (asked.get("stream_options") or {}).get("include_usage")
        usage = [{**shared, "choices": [], "usage": answer.get("usage")}] if wants_usage else []
        return [*chunks, *usage]

    def events(self, chunks: Sequence[Body]) -> list[bytes]:
        """See `Wire`."""
        return [*(f"data: {encoded(chunk)}\n\n".encode() for chunk in chunks), b"data: [DONE]\n\n"]


def _add(message: Body, delta: Mapping[str, Any]) -> None:
    for name, value in delta.items():
        if name == "tool_calls" and isinstance(value, list):
            calls: dict[int, Body] = message.setdefault("tool_calls", {})
            for call in value:
                _add_call(calls.setdefault(call.get("index", len(calls)), {}), call)
        elif isinstance(value, str) and name != "role" and isinstance(message.get(name), str):
            message[name] += value
        elif value is not None:
            message[name] = value


def _add_call(call: Body, delta: Mapping[str, Any]) -> None:
    function = call.setdefault("function", {"name": "", "arguments": ""})
    for name, value in (delta.get("function") or {}).items():
        if isinstance(value, str):
            function[name] = function.get(name, "") + value
    call.update(
        {name: value for name, value in delta.items() if name not in ("index", "function") and value is not None}
    )


def _listed(message: Body) -> Body:
    calls = message.get("tool_calls")
    if not isinstance(calls, dict):
        return message
    return {**message, "tool_calls": [{"type": "function", **calls[index]} for index in sorted(calls)]}


def _choice(response: ModelResponse, message: Mapping[str, Any], index: int) -> Body:
    parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
    text = "".join(text for part in parts if (text := text_of(part)) is not None)
    said: Body = {"role": "assistant", "content": text or None, "refusal": None}
    thoughts = [part.get("content") for part in parts if part.get("type") == "reasoning"]
    if thoughts:
        said["reasoning_content"] = "\n".join(str(thought) for thought in thoughts)
    calls = [
        {
            "id": part.get("id") or f"call_{place}",
            "type": "function",
            "function": {"name": part.get("name") or "", "arguments": argument_text(part.get("arguments"))},
        }
        for place, part in enumerate(part for part in parts if part.get("type") == "tool_call")
    ]
    if calls:
        said["tool_calls"] = calls
    reason = _REASONS.get(finish_reason_of(response, message) or "", "tool_calls" if calls else "stop")
    return {"index": index, "message": said, "logprobs": None, "finish_reason": reason}


def _usage(response: ModelResponse) -> Body | None:
    if response.input_tokens is None and response.output_tokens is None:
        return None
    inputs, outputs = response.input_tokens or 0, response.output_tokens or 0
    usage: Body = {"prompt_tokens": inputs, "completion_tokens": outputs, "total_tokens": inputs + outputs}
    if response.cached_input_tokens is not None:
        usage["prompt_tokens_details"] = {"cached_tokens": response.cached_input_tokens}
    if response.reasoning_tokens is not None:
        usage["completion_tokens_details"] = {"reasoning_tokens": response.reasoning_tokens}
    return usage


def _pieces(choice: Mapping[str, Any]) -> Iterator[Body]:
    message = choice.get("message") or {}
    yield {"delta": {"role": "assistant", "content": "" if message.get("content") else None}}
    for name, value in message.items():
        if name == "tool_calls":
            yield {"delta": {"tool_calls": [{"index": index, **call} for index, call in enumerate(value or ())]}}
        elif name != "role" and value is not None:
            yield {"delta": {name: value}}
    yield {"delta": {}, "finish_reason": choice.get("finish_reason")}
