"""The models of agents of the OpenAI Agents SDK, on record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import Any, Final, get_args

from agents import (
    FunctionTool,
    Handoff,
    Model,
    ModelProvider,
    ModelResponse,
    ModelSettings,
    MultiProvider,
    Tool,
    Usage,
)
from agents.items import TResponseStreamEvent
from agents.usage import deserialize_usage
from openai import BaseModel
from openai.types.responses import ResponseOutputItem, ResponseStreamEvent

from rejudge.errors import UsageError
from rejudge.models.canonical import JsonValue
from rejudge.replay import request as genai
from rejudge.replay.adapters.edits import changed_parameters
from rejudge.replay.adapters.mcp_tools import marked
from rejudge.replay.adapters.openai_agents_exporter import send_no_traces
from rejudge.replay.adapters.responses import Responses, edited_prompt, item_messages
from rejudge.replay.adapters.wire import Body, answer_body, answer_chunks, streamed_response
from rejudge.replay.answers import ModelAnswer
from rejudge.replay.calls import ModelCall
from rejudge.replay.failures import recorded_failure
from rejudge.replay.values import jsonable

_WIRE: Final = Responses()
_SETTINGS: Final = frozenset(field.name for field in fields(ModelSettings))
_NOT_RECORDED: Final = frozenset({"extra_headers", "extra_query", "extra_body", "extra_args", "retry"})
"""Settings that say how a request is sent, or may hold a secret."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a model is asked with; ``others`` are handed on as they are."""

    system_instructions: str | None
    input: Any
    model_settings: ModelSettings
    tools: list[Tool]
    handoffs: list[Handoff[Any, Any]]
    others: dict[str, Any]

    def arguments(self) -> dict[str, Any]:
        """The arguments of `Model.get_response`."""
        own = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "others"}
        return {**own, **self.others}


class RecordedModel(Model):
    """A model whose requests are on record, and answered from the tape in a replay.

    Args:
        model: The model, or the name that a provider knows it by.
        provider: Knows models by name; by default the SDK's own.
    """

    def __init__(self, model: Model | str | None, provider: ModelProvider | None = None) -> None:
        self._named = model
        self._provider = provider

    @property
    def wrapped(self) -> Model:
        """The model below, looked up when it is first needed."""
        if not isinstance(self._named, Model):
            self._provider = self._provider or MultiProvider()
            self._named = self._provider.get_model(self._named)
        return self._named

    def __getattr__(self, name: str) -> Any:
        # Looking must not look a model up: a run may never ask it, and there may be no key for it.
        if isinstance(self.__dict__.get("_named"), Model):
            return getattr(self._named, name)
        raise AttributeError(name)

    async def close(self) -> None:
        """Close the model below."""
        await self.wrapped.close()

    def get_retry_advice(self, request: Any) -> Any:
        """What the model below advises."""
        return self.wrapped.get_retry_advice(request)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self.wrapped._cleanup_on_run_end(owner)

    async def get_response(
        self,
        system_instructions: Any,
        input: Any,
        model_settings: Any,
        tools: Any,
        output_schema: Any,
        handoffs: Any,
        tracing: Any,
        **others: Any,
    ) -> ModelResponse:
        """The response, or the recorded one."""
        others = {"output_schema": output_schema, "tracing": tracing, **others}
        asked = _Asked(system_instructions, input, model_settings, tools, handoffs, others)
        with ModelCall(self._request(asked)) as call:
            answer = call.ask()
            if answer is not None:
                send_no_traces()
                return _response(call, answer)
            model, sent = self._to_send(call, asked)
            response = await model.get_response(**sent.arguments())
            call.returned(_recorded(response, call.request.model))
            return response

    async def stream_response(
        self,
        system_instructions: Any,
        input: Any,
        model_settings: Any,
        tools: Any,
        output_schema: Any,
        handoffs: Any,
        tracing: Any,
        **others: Any,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """The response as it comes, or the recorded one as it came."""
        others = {"output_schema": output_schema, "tracing": tracing, **others}
        asked = _Asked(system_instructions, input, model_settings, tools, handoffs, others)
        with ModelCall(self._request(asked), current=False) as call:
            answer = call.ask()
            if answer is not None:
                send_no_traces()
                for recorded in _events(call, answer):
                    yield recorded
                _fail_again(call, answer)
                return
            model, sent = self._to_send(call, asked)
            chunks: list[Body] = []
            try:
                events = aiter(model.stream_response(**sent.arguments()))
                while (event := await _next(call, events)) is not None:
                    chunks.append(event.model_dump(mode="json", exclude_unset=True))
                    yield event
            finally:
                if chunks:
                    call.returned(streamed_response(_WIRE, chunks))

    def _request(self, asked: _Asked) -> genai.ModelRequest:
        return request_of(model_name(self._named if self._named is not None else self.wrapped), asked)

    def _to_send(self, call: ModelCall, asked: _Asked) -> tuple[Model, _Asked]:
        before, after = self._request(asked), call.request
        if before == after:
            return self.wrapped, asked
        instructions, items = edited_prompt(asked.system_instructions, asked.input, before, after)
        settings = _edited_settings(asked.model_settings, changed_parameters(before, after))
        edited = replace(asked, system_instructions=instructions, input=items, model_settings=settings)
        return self.wrapped if after.model == before.model else self._other(after.model), edited

    def _other(self, name: str) -> Model:
        if self._provider is not None:
            return self._provider.get_model(name)
        if not isinstance(getattr(self.wrapped, "model", None), str):
            mend = "give the agent its model by name"
            raise UsageError(f"{type(self.wrapped).__name__} cannot be asked for the model {name!r}", mend=mend)
        other: Any = copy(self.wrapped)
        other.model = name
        made: Model = other
        return made


class RecordedProvider(ModelProvider):
    """A provider whose models are on record.

    Args:
        provider: Knows models by name; by default the SDK's own.
    """

    def __init__(self, provider: ModelProvider | None = None) -> None:
        self._provider = provider or MultiProvider()

    def get_model(self, model_name: str | None) -> Model:
        """The model of that name, on record."""
        return RecordedModel(model_name, self._provider)

    async def aclose(self) -> None:
        """Close the provider below."""
        await self._provider.aclose()


async def _next(call: ModelCall, events: AsyncIterator[TResponseStreamEvent]) -> TResponseStreamEvent | None:
    """The next event; the call's span is current only while the model works."""
    token = call.attach()
    try:
        return await anext(events, None)
    finally:
        call.detach(token)


def model_name(model: Model | str) -> str:
    """The name that a model is asked for by."""
    if isinstance(model, str):
        return model.rpartition("/")[2] if model.startswith("openai/") else model
    name = getattr(model, "model", None)
    return name if isinstance(name, str) else type(model).__name__


def request_of(name: str, asked: _Asked) -> genai.ModelRequest:
    """The request in the GenAI schema."""
    instructions = asked.system_instructions
    settings = {
        field: value
        for field in _SETTINGS - _NOT_RECORDED
        if (value := getattr(asked.model_settings, field)) is not None
    }
    more = asked.model_settings.extra_args or {}
    return genai.ModelRequest(
        model=name,
        messages=item_messages(jsonable(asked.input)),
        system_instructions=({"type": "text", "content": instructions},) if instructions else (),
        tools=tuple(_definition(tool) for tool in (*asked.tools, *asked.handoffs)),
        parameters={field: jsonable(value) for field, value in sorted({**more, **settings}.items())},
        provider="openai",
    )


def _definition(tool: Tool | Handoff[Any, Any]) -> dict[str, JsonValue]:
    if isinstance(tool, Handoff):
        name, description, schema = tool.tool_name, tool.tool_description, tool.input_json_schema
    elif isinstance(tool, FunctionTool):
        name, description, schema = tool.name, tool.description, tool.params_json_schema
    else:
        return {"type": tool.name}
    plain = {"type": "function", "name": name, "description": description, "parameters": jsonable(schema)}
    origin = getattr(tool, "_mcp_tool_binding", None)
    return marked(plain, str(origin[0]), str(origin[1])) if origin else plain


def _edited_settings(settings: ModelSettings, changed: dict[str, JsonValue]) -> ModelSettings:
    known = {name: value for name, value in changed.items() if name in _SETTINGS}
    more = {name: value for name, value in changed.items() if name not in _SETTINGS}
    if more:
        extra = {**(settings.extra_args or {}), **more}
        known["extra_args"] = {name: value for name, value in extra.items() if value is not None}
    return replace(settings, **known)


def _recorded(response: ModelResponse, name: str) -> genai.ModelResponse:
    """A response with its wire form, which is that of a response of the Responses API."""
    usage = response.usage
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "input_tokens_details": jsonable(usage.input_tokens_details),
        "output_tokens_details": jsonable(usage.output_tokens_details),
    }
    body = {
        "object": "response",
        "id": response.response_id,
        "status": "completed",
        "model": name,
        "output": [item.model_dump(mode="json", exclude_unset=True) for item in response.output],
        "usage": counts if usage.requests else None,
        "request_id": response.request_id,
    }
    return _WIRE.response_of(body)


def _response(call: ModelCall, answer: ModelAnswer) -> ModelResponse:
    body = answer_body(_WIRE, call.deliver(answer), {"model": call.request.model})
    usage = body.get("usage")
    return ModelResponse(
        output=[_constructed(_ITEMS, item) for item in body.get("output") or ()],
        usage=deserialize_usage({"requests": 1, **usage}) if usage else Usage(),
        response_id=body.get("id"),
        request_id=body.get("request_id"),
    )


def _events(call: ModelCall, answer: ModelAnswer) -> list[TResponseStreamEvent]:
    if answer.failed:
        call.returned(answer.response)
        raw = answer.response.raw
        chunks = raw if isinstance(raw, list) else []
    else:
        chunks = answer_chunks(_WIRE, call.deliver(answer), {"model": call.request.model})
    return [_constructed(_EVENTS, chunk) for chunk in chunks]


def _fail_again(call: ModelCall, answer: ModelAnswer) -> None:
    if answer.failed:
        raise recorded_failure(answer.error_type, answer.error or "")


def _by_type(union: Any) -> dict[str, type[BaseModel]]:
    found: dict[str, type[BaseModel]] = {}
    for kind in get_args(get_args(union)[0]):
        for name in get_args(kind.model_fields["type"].annotation):
            found[name] = kind
    return found


_ITEMS: Final = _by_type(ResponseOutputItem)
_EVENTS: Final = _by_type(ResponseStreamEvent)


def _constructed(kinds: dict[str, type[BaseModel]], value: Body) -> Any:
    """A model of the client's, made as the client makes it: what it does not know is kept."""
    kind = kinds.get(str(value.get("type")))
    if kind is None:
        raise UsageError(f"the openai library that is installed knows no {value.get('type')!r}")
    return kind.construct(**value)
