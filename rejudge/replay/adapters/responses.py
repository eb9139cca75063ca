"""OpenAI's responses on the wire. https://platform.openai.com/docs/api-reference/responses"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rejudge.otel.conventions.messages import message_of, messages_of, output_messages_of
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
from rejudge.replay.adapters.wire import Body, argument_text, encoded, finish_reason_of, whole_number
from rejudge.replay.request import ModelRequest, ModelResponse, text_of

_SPELLINGS: Final = {"max_output_tokens": "max_tokens"}
_NO_PARAMETERS: Final = frozenset({"model", "input", "instructions", "tools", "stream", "stream_options"})
_ENDINGS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Responses:
    """See `rejudge.replay.adapters.wire.Wire`."""

    path = "/responses"
    library = "openai"

    def request_of(self, body: Body) -> ModelRequest:
        """See `Wire`."""
        asked, tools = body.get("input"), body.get("tools")
        return ModelRequest(
            model=str(body.get("model") or ""),
            messages=item_messages(asked),
            system_instructions=tuple(parts_of(body["instructions"])) if body.get("instructions") else (),
            tools=tuple(tools) if isinstance(tools, list) else None,
            parameters=parameters_of(body, _SPELLINGS, _NO_PARAMETERS),
            provider="openai",
        )

    def edited(self, body: Body, before: ModelRequest, after: ModelRequest) -> Body:
        """See `Wire`."""
        edited = with_parameters(body, changed_parameters(before, after), _SPELLINGS)
        instructions, asked = edited_prompt(body.get("instructions"), body.get("input"), before, after)
        if instructions is None:
            edited.pop("instructions", None)
        else:
            edited["instructions"] = instructions
        return {**edited, "model": after.model, "input": asked}

    def response_of(self, body: Body) -> ModelResponse:
        """See `Wire`."""
        usage = body.get("usage") or {}
        return ModelResponse(
            messages=tuple(output_messages_of({"output": body["output"]})) if body.get("output") else (),
            model=body.get("model"),
            response_id=body.get("id"),
            finish_reason=finish_of(body),
            input_tokens=whole_number(usage, "input_tokens"),
            output_tokens=whole_number(usage, "output_tokens"),
            cached_input_tokens=whole_number(usage, "input_tokens_details", "cached_tokens"),
            reasoning_tokens=whole_number(usage, "output_tokens_details", "reasoning_tokens"),
            raw=body,
        )

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """See `Wire`."""
        return body.get("object") == "response"

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """See `Wire`."""
        return str(chunk.get("type")).startswith("response.") or chunk.get("type") == "error"

    def joined(self, chunks: Sequence[Body]) -> Body:
        """See `Wire`."""
        joined: Body = {"object": "response", "output": []}
        for chunk in chunks:
            if isinstance(chunk.get("response"), dict):
                joined = {**chunk["response"], "output": chunk["response"].get("output") or joined["output"]}
            elif chunk.get("type") == "response.output_item.done":
                joined["output"] = [*joined["output"], chunk.get("item")]
            if chunk.get("type") in _ENDINGS:
                break
        return joined

    def rebuilt(self, response: ModelResponse, asked: Body) -> Body:
        """See `Wire`."""
        reasons = {finish_reason_of(response, message) for message in response.messages}
        cut = bool(reasons & {"length", "max_tokens", "max_output_tokens", "incomplete"})
        return {
            "id": response.response_id or "resp_recorded",
            "object": "response",
            "created_at": 0,
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "error": None,
            "instructions": asked.get("instructions"),
            "metadata": {},
            "model": response.model or str(asked.get("model") or ""),
            "output": output_items(response),
            "parallel_tool_calls": True,
            "temperature": None,
            "tool_choice": "auto",
            "tools": [],
            "top_p": None,
            "usage": _usage(response),
        }

    def chunks_of(self, answer: Body, asked: Body) -> list[Body]:
        """See `Wire`."""
        opened = {**answer, "status": "in_progress", "output": [], "usage": None}
        ending = "response.incomplete" if answer.get("status") == "incomplete" else "response.completed"
        events = [
            {"type": "response.created", "response": opened},
            {"type": "response.in_progress", "response": opened},
            *(event for index, item in enumerate(answer.get("output") or ()) for event in _item_events(index, item)),
            {"type": ending, "response": answer},
        ]
        return [{**event, "sequence_number": number} for number, event in enumerate(events)]

    def events(self, chunks: Sequence[Body]) -> list[bytes]:
        """See `Wire`."""
        return [f"event: {chunk.get('type')}\ndata: {encoded(chunk)}\n\n".encode() for chunk in chunks]


def item_messages(asked: Any) -> tuple[dict[str, Any], ...]:
    """The messages of a request's ``input``, one for each of its items."""
    if isinstance(asked, list):
        return tuple(message_of(item) for item in asked)
    return tuple(messages_of([asked])) if asked else ()


def edited_prompt(
    instructions: str | None, asked: Any, before: ModelRequest, after: ModelRequest
) -> tuple[str | None, Any]:
    """A request's ``instructions`` and ``input`` with what a fork changed."""
    texts = changed_texts(before, after)
    asked = with_texts(asked, texts) if isinstance(asked, list) else texts.get(0, asked)
    system = changed_system(before, after)
    if system is None:
        return instructions, asked
    items = with_system_item(asked, system) if isinstance(asked, list) else None
    return (system, asked) if items is None else (None, items)


def finish_of(body: Mapping[str, Any]) -> str | None:
    """Why a response ended, as chat completions would say it."""
    if body.get("status") == "incomplete":
        reason = (body.get("incomplete_details") or {}).get("reason")
        return "length" if reason == "max_output_tokens" else reason
    if body.get("status") != "completed":
        return None
    called = any(isinstance(item, dict) and item.get("type") == "function_call" for item in body.get("output") or ())
    return "tool_calls" if called else "stop"


def output_items(response: ModelResponse) -> list[Body]:
    """Output items that say what was recorded."""
    parts = [part for message in response.messages for part in message.get("parts") or () if isinstance(part, dict)]
    return [item for place, part in enumerate(parts) if (item := _item(part, place)) is not None]


def _item(part: Mapping[str, Any], place: int) -> Body | None:
    kind = part.get("type", "text")
    if kind == "tool_call":
        return {
            "type": "function_call",
            "id": f"fc_recorded_{place}",
            "call_id": part.get("id") or f"call_{place}",
            "name": part.get("name") or "",
            "arguments": argument_text(part.get("arguments")),
            "status": "completed",
        }
    if kind == "reasoning":
        summary = [{"type": "summary_text", "text": str(part.get("content") or "")}]
        return {"type": "reasoning", "id": f"rs_recorded_{place}", "summary": summary}
    text = text_of(part)
    if text is None:
        return None
    content = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {
        "type": "message",
        "id": f"msg_recorded_{place}",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }


def _usage(response: ModelResponse) -> Body | None:
    if response.input_tokens is None and response.output_tokens is None:
        return None
    inputs, outputs = response.input_tokens or 0, response.output_tokens or 0
    return {
        "input_tokens": inputs,
        "input_tokens_details": {"cached_tokens": response.cached_input_tokens or 0, "cache_write_tokens": 0},
        "output_tokens": outputs,
        "output_tokens_details": {"reasoning_tokens": response.reasoning_tokens or 0},
        "total_tokens": inputs + outputs,
    }


def _item_events(index: int, item: Body) -> Iterator[Body]:
    shared = {"output_index": index, "item_id": item.get("id")}
    if item.get("type") == "message":
        yield _added(index, {**item, "status": "in_progress", "content": []})
        for place, part in enumerate(item.get("content") or ()):
            yield from _text_events({**shared, "content_index": place}, part)
    elif item.get("type") == "function_call":
        yield _added(index, {**item, "status": "in_progress", "arguments": ""})
        arguments = item.get("arguments") or ""
        yield {"type": "response.function_call_arguments.delta", **shared, "delta": arguments}
        called = {"name": item.get("name"), "arguments": arguments}
        yield {"type": "response.function_call_arguments.done", **shared, **called}
    else:
        yield _added(index, item)
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _added(index: int, item: Body) -> Body:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def _text_events(shared: Body, part: Body) -> Iterator[Body]:
    if part.get("type") != "output_text":
        yield {"type": "response.content_part.added", **shared, "part": part}
        yield {"type": "response.content_part.done", **shared, "part": part}
        return
    yield {"type": "response.content_part.added", **shared, "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", **shared, "delta": part["text"], "logprobs": []}
    yield {"type": "response.output_text.done", **shared, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **shared, "part": part}
