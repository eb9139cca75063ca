"""Anthropic's messages on the wire. https://docs.anthropic.com/en/api/messages"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from rejudge.otel.conventions.messages import message_of, output_messages_of
from rejudge.otel.conventions.parts import parts_of
from rejudge.replay.adapters.edits import (
    changed_parameters,
    changed_system,
    changed_texts,
    parameters_of,
    with_parameters,
    with_system_item,
    with_texts,
)
from rejudge.replay.adapters.wire import Body, encoded, finish_reason_of, whole_number
from rejudge.replay.request import ModelRequest, ModelResponse, text_of

_NO_PARAMETERS: Final = frozenset({"model", "messages", "system", "tools", "stream"})
_CHUNKS: Final = frozenset({"message_start", "message_delta", "message_stop", "ping", "error"})
_REASONS: Final = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause_turn",
}


class AnthropicMessages:
    """See `rejudge.replay.adapters.wire.Wire`."""

    path = "/messages"
    library = "anthropic"

    def request_of(self, body: Body) -> ModelRequest:
        """See `Wire`."""
        tools = body.get("tools")
        return ModelRequest(
            model=str(body.get("model") or ""),
            messages=tuple(message_of(item) for item in body.get("messages") or ()),
            system_instructions=tuple(parts_of(body["system"])) if body.get("system") else (),
            tools=tuple(tools) if isinstance(tools, list) else None,
            parameters=parameters_of(body, {}, _NO_PARAMETERS),
            provider="anthropic",
        )

    def edited(self, body: Body, before: ModelRequest, after: ModelRequest) -> Body:
        """See `Wire`."""
        edited = with_parameters(body, changed_parameters(before, after), {})
        edited["model"] = after.model
        edited["messages"] = with_texts(body.get("messages") or (), changed_texts(before, after))
        system = changed_system(before, after)
        if system is None:
            return edited
        items = with_system_item(edited["messages"], system)
        if items is None:
            return {**edited, "system": system}
        edited.pop("system", None)
        return {**edited, "messages": items}

    def response_of(self, body: Body) -> ModelResponse:
        """See `Wire`."""
        usage = body.get("usage") or {}
        fresh, read, written = (
            whole_number(usage, name)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        messages = (
            output_messages_of({"content": body["content"], "role": "assistant"}) if body.get("content") else ()
        )
        reason = body.get("stop_reason")
        return ModelResponse(
            messages=tuple({**message, "finish_reason": reason} if reason else message for message in messages),
            model=body.get("model"),
            response_id=body.get("id"),
            finish_reason=reason,
            input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
            output_tokens=whole_number(usage, "output_tokens"),
            cached_input_tokens=read,
            cache_write_tokens=written,
            raw=body,
        )

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """See `Wire`."""
        return body.get("type") == "message"

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """See `Wire`."""
        return chunk.get("type") in _CHUNKS or str(chunk.get("type")).startswith("content_block_")

    def joined(self, chunks: Sequence[Body]) -> Body:
        """See `Wire`."""
        joined: Body = {"type": "message", "role": "assistant"}
        blocks: dict[int, Body] = {}
        for chunk in chunks:
            kind = chunk.get("type")
            if kind == "message_start":
                joined.update(chunk.get("message") or {})
            elif kind == "content_block_start":
                blocks[chunk.get("index", 0)] = dict(chunk.get("content_block") or {})
            elif kind == "content_block_delta":
                _add(blocks.setdefault(chunk.get("index", 0), {"type": "text"}), chunk.get("delta") or {})
            elif kind == "message_delta":
                joined.update(chunk.get("delta") or {})
                told = {name: count for name, count in (chunk.get("usage") or {}).items() if count is not None}
                joined["usage"] = {**(joined.get("usage") or {}), **told}
        return {**joined, "content": [_whole(blocks[index]) for index in sorted(blocks)]}

    def rebuilt(self, response: ModelResponse, asked: Body) -> Body:
        """See `Wire`."""
        parts = [part for one in response.messages for part in one.get("parts") or () if isinstance(part, dict)]
        content = [block for place, part in enumerate(parts) if (block := _block(part, place)) is not None]
        said = response.messages[-1] if response.messages else {}
        ended = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        return {
            "id": response.response_id or "msg_recorded",
            "type": "message",
            "role": "assistant",
            "model": response.model or str(asked.get("model") or ""),
            "content": content,
            "stop_reason": _REASONS.get(finish_reason_of(response, said) or "", ended),
            "stop_sequence": None,
            "usage": _usage(response),
        }

    def chunks_of(self, answer: Body, asked: Body) -> list[Body]:
        """See `Wire`."""
        opened = {**answer, "content": [], "stop_reason": None, "stop_sequence": None}
        ended = {"stop_reason": answer.get("stop_reason"), "stop_sequence": answer.get("stop_sequence")}
        return [
            {"type": "message_start", "message": opened},
            *(
                chunk
                for index, block in enumerate(answer.get("content") or ())
                for chunk in _block_chunks(index, block)
            ),
            {"type": "message_delta", "delta": ended, "usage": answer.get("usage") or {"output_tokens": 0}},
            {"type": "message_stop"},
        ]

    def events(self, chunks: Sequence[Body]) -> list[bytes]:
        """See `Wire`."""
        return [f"event: {chunk.get('type')}\ndata: {encoded(chunk)}\n\n".encode() for chunk in chunks]


def _add(block: Body, delta: Mapping[str, Any]) -> None:
    kind = delta.get("type")
    if kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or ()), delta.get("citation")]
        return
    for name, value in delta.items():
        if name == "partial_json":
            block["_json"] = block.get("_json", "") + str(value)
        elif name != "type" and isinstance(value, str):
            block[name] = (block.get(name) or "") + value


def _whole(block: Body) -> Body:
    text = block.pop("_json", "")
    if not text:
        return block
    try:
        return {**block, "input": orjson.loads(text)}
    except ValueError:  # a stream that was cut in the middle of it
        return {**block, "input": {}}


def _block(part: Mapping[str, Any], place: int) -> Body | None:
    kind = part.get("type", "text")
    if kind == "tool_call":
        arguments = part.get("arguments")
        return {
            "type": "tool_use",
            "id": part.get("id") or f"toolu_recorded_{place}",
            "name": part.get("name") or "",
            "input": arguments if isinstance(arguments, dict) else {},
        }
    if kind == "reasoning":
        return {"type": "thinking", "thinking": str(part.get("content") or ""), "signature": ""}
    text = text_of(part)
    return None if text is None else {"type": "text", "text": text, "citations": None}


def _usage(response: ModelResponse) -> Body:
    read, written = response.cached_input_tokens or 0, response.cache_write_tokens or 0
    return {
        "input_tokens": max((response.input_tokens or 0) - read - written, 0),
        "output_tokens": response.output_tokens or 0,
        "cache_read_input_tokens": response.cached_input_tokens,
        "cache_creation_input_tokens": response.cache_write_tokens,
    }


def _block_chunks(index: int, block: Body) -> Iterator[Body]:
    kind = block.get("type")
    empty, deltas = block, list[Body]()
    if kind == "text":
        empty, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": block.get("text") or ""}]
    elif kind == "tool_use":
        empty = {**block, "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": encoded(block.get("input") or {})}]
    elif kind == "thinking":
        empty = {**block, "thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": block.get("thinking") or ""}]
        deltas += [{"type": "signature_delta", "signature": block["signature"]}] if block.get("signature") else []
    yield {"type": "content_block_start", "index": index, "content_block": empty}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}
