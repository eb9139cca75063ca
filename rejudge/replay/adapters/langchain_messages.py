"""LangChain's messages in the GenAI schema, and what was recorded as LangChain's messages again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, Final

import orjson
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    SystemMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from rejudge.models.canonical import JsonValue
from rejudge.otel.conventions.messages import message_of
from rejudge.replay.adapters.edits import changed_system, changed_texts, with_texts
from rejudge.replay.adapters.langchain_mcp import definition_of
from rejudge.replay.request import PARAMETERS, ModelRequest, ModelResponse, text_of
from rejudge.replay.values import jsonable

_FIELDS: Final = {"stop_sequences": "stop", "choice_count": "n"}
_NOT_RECORDED: Final = frozenset(
    {"tools", "functions", "stream", "stream_options", "headers", "extra_headers", "extra_body"}
)


def request_of(model: Any, messages: Sequence[BaseMessage], stop: Any, kwargs: dict[str, Any]) -> ModelRequest:
    """The request in the GenAI schema."""
    told = model._get_ls_params(stop=stop, **kwargs)
    own = {name: getattr(model, _FIELDS.get(name, name), None) for name in PARAMETERS}
    parameters = {
        **own,
        "stop_sequences": stop or own["stop_sequences"],
        **{name: value for name, value in kwargs.items() if name not in _NOT_RECORDED},
    }
    tools = kwargs.get("tools") or kwargs.get("functions")
    return ModelRequest(
        model=str(kwargs.get("model") or told.get("ls_model_name") or type(model).__name__),
        messages=tuple(message_of(jsonable(message_to_dict(message))) for message in messages),
        tools=tuple(definition_of(tool) for tool in tools or ()),
        parameters={name: jsonable(value) for name, value in parameters.items() if value is not None},
        provider=told.get("ls_provider"),
    )


def edited_messages(messages: Sequence[BaseMessage], before: ModelRequest, after: ModelRequest) -> list[BaseMessage]:
    """The messages with what a fork changed."""
    edited = list(messages)
    for place, text in changed_texts(before, after).items():
        edited[place] = _saying(edited[place], text)
    system = changed_system(before, after)
    if system is None:
        return edited
    at = [place for place, message in enumerate(edited) if isinstance(message, SystemMessage)]
    if not at:
        return [SystemMessage(system), *edited]
    edited[at[0]] = edited[at[0]].model_copy(update={"content": system})
    return [message for place, message in enumerate(edited) if place not in at[1:]]


def _saying(message: BaseMessage, text: str) -> BaseMessage:
    [said] = with_texts([{"content": message.content}], {0: text})
    return message.model_copy(update={"content": said["content"]})


def recorded_result(result: ChatResult) -> ModelResponse:
    """A result in the GenAI schema, with all there is to it."""
    raw = {
        "langchain": [_dumped(generation) for generation in result.generations],
        "llm_output": jsonable(result.llm_output),
    }
    return _recorded([generation.message for generation in result.generations], raw)


def recorded_chunks(chunks: Sequence[ChatGenerationChunk]) -> ModelResponse:
    """What a stream said, with its chunks."""
    whole: ChatGenerationChunk = reduce(add, chunks)
    return _recorded([whole.message], {"langchain_chunks": [_dumped(chunk) for chunk in chunks]})


def _dumped(generation: ChatGeneration) -> dict[str, JsonValue]:
    message = jsonable(message_to_dict(generation.message))
    return {"message": message, "generation_info": jsonable(generation.generation_info)}


def _recorded(messages: Sequence[BaseMessage], raw: JsonValue) -> ModelResponse:
    first = messages[0]
    usage = getattr(first, "usage_metadata", None) or {}
    told = first.response_metadata
    reason = told.get("finish_reason") or told.get("stop_reason")
    said = [message_of(jsonable(message_to_dict(message)), "assistant") for message in messages]
    return ModelResponse(
        messages=tuple({**message, "finish_reason": reason} if reason else message for message in said),
        model=told.get("model_name") or told.get("model"),
        response_id=told.get("id") or None,
        finish_reason=reason,
        input_tokens=usage.get("input_tokens"),
        output_tokens=usage.get("output_tokens"),
        cached_input_tokens=(usage.get("input_token_details") or {}).get("cache_read"),
        cache_write_tokens=(usage.get("input_token_details") or {}).get("cache_creation"),
        reasoning_tokens=(usage.get("output_token_details") or {}).get("reasoning"),
        raw=raw,
    )


def result_of(response: ModelResponse) -> ChatResult:
    """The recorded result: what came, or one that says the same."""
    raw = response.raw if isinstance(response.raw, dict) else {}
    if isinstance(raw.get("langchain"), list):
        generations = [
            ChatGeneration(message=_loaded(one["message"]), generation_info=one.get("generation_info"))
            for one in raw["langchain"]
        ]
        return ChatResult(generations=generations, llm_output=raw.get("llm_output"))
    if isinstance(raw.get("langchain_chunks"), list):
        whole: ChatGenerationChunk = reduce(add, chunks_of(response))
        message = AIMessage(**{**whole.message.model_dump(), "type": "ai"})
        return ChatResult(generations=[ChatGeneration(message=message, generation_info=whole.generation_info)])
    rebuilt = [ChatGeneration(message=_rebuilt(response, message)) for message in response.messages]
    return ChatResult(generations=rebuilt or [ChatGeneration(message=AIMessage(""))])


def chunks_of(response: ModelResponse, *, whole: bool = True) -> list[ChatGenerationChunk]:
    """The recorded chunks: those that came, or one that says the same.

    Args:
        whole: False gives only those that came.
    """
    raw = response.raw if isinstance(response.raw, dict) else {}
    if isinstance(raw.get("langchain_chunks"), list):
        return [
            ChatGenerationChunk(message=_loaded(one["message"]), generation_info=one.get("generation_info"))
            for one in raw["langchain_chunks"]
        ]
    if not whole:
        return []
    return [_as_chunk(generation) for generation in result_of(response).generations]


def _loaded(message: Any) -> Any:
    # Messages only: a recording never says which classes are made.
    [loaded] = messages_from_dict([message])
    return loaded


def _rebuilt(response: ModelResponse, message: dict[str, Any]) -> AIMessage:
    parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
    calls = [
        {
            "name": str(part.get("name") or ""),
            "args": part["arguments"] if isinstance(part.get("arguments"), dict) else {},
            "id": part.get("id") or f"call_{place}",
            "type": "tool_call",
        }
        for place, part in enumerate(part for part in parts if part.get("type") == "tool_call")
    ]
    told = {"model_name": response.model, "finish_reason": message.get("finish_reason") or response.finish_reason}
    inputs, outputs = response.input_tokens or 0, response.output_tokens or 0
    counted = response.input_tokens is not None or response.output_tokens is not None
    usage: Any = {"input_tokens": inputs, "output_tokens": outputs, "total_tokens": inputs + outputs}
    return AIMessage(
        content="".join(text for part in parts if (text := text_of(part)) is not None),
        tool_calls=calls,
        response_metadata={name: value for name, value in told.items() if value is not None},
        usage_metadata=usage if counted else None,
    )


def _as_chunk(generation: ChatGeneration) -> ChatGenerationChunk:
    message = generation.message
    calls = [
        {
            "name": call["name"],
            "args": orjson.dumps(call["args"]).decode(),
            "id": call["id"],
            "index": index,
            "type": "tool_call_chunk",
        }
        for index, call in enumerate(getattr(message, "tool_calls", ()))
    ]
    chunk = AIMessageChunk(
        content=message.content,
        tool_call_chunks=calls,
        additional_kwargs={name: value for name, value in message.additional_kwargs.items() if name != "tool_calls"},
        response_metadata=message.response_metadata,
        usage_metadata=getattr(message, "usage_metadata", None),
        id=message.id,
    )
    return ChatGenerationChunk(message=chunk, generation_info=generation.generation_info)
