"""The model of a pydantic-ai agent, on record."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Self

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
    infer_model,
)
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from rejudge.errors import UsageError
from rejudge.replay.adapters.pydantic_ai_messages import (
    Asked,
    edited,
    events_of,
    failed_response,
    failure_of,
    recorded_response,
    request_of,
    response_of,
)
from rejudge.replay.answers import ModelAnswer
from rejudge.replay.calls import ModelCall


class RecordedModel(WrapperModel):
    """A model whose requests are on record, and answered from the tape in a replay."""

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The response, or the recorded one."""
        asked = Asked(messages, model_settings, model_request_parameters)
        with ModelCall(request_of(self.wrapped, asked)) as call:
            answer = call.ask()
            if answer is not None:
                return _delivered(call, answer)
            model, sent = self._to_send(call, asked)
            try:
                response = await model.request(sent.messages, sent.settings, sent.parameters)
            except Exception as failure:
                call.returned(failed_response(failure))
                raise
            call.returned(recorded_response(response))
            return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The response as it comes, or the recorded one as it came."""
        asked = Asked(messages, model_settings, model_request_parameters)
        call = ModelCall(request_of(self.wrapped, asked), current=False)
        async with AsyncExitStack() as stack:
            stack.callback(call.close)
            try:
                answer = call.ask()
                if answer is not None:
                    stream: StreamedResponse = _recorded_stream(call, answer, model_request_parameters)
                else:
                    stream = await self._opened(call, stack, asked, run_context)
            except BaseException as failure:
                call.fail(failure)
                raise
            # What befalls the reader from here on is no failure of the model's.
            yield stream

    async def _opened(
        self, call: ModelCall, stack: AsyncExitStack, asked: Asked, run_context: RunContext[Any] | None
    ) -> StreamedResponse:
        model, sent = self._to_send(call, asked)
        opening = model.request_stream(sent.messages, sent.settings, sent.parameters, run_context)
        heard = stack.enter_context(_Heard(call))
        token = call.attach()
        try:
            stream = await stack.enter_async_context(opening)
        except Exception as failure:
            call.returned(failed_response(failure))
            raise
        finally:
            call.detach(token)
        heard.listen_to(stream)
        return stream

    def _to_send(self, call: ModelCall, asked: Asked) -> tuple[Model, Asked]:
        before, after = request_of(self.wrapped, asked), call.request
        if before == after:
            return self.wrapped, asked
        model = self.wrapped if after.model == before.model else other_model(self.wrapped, after.model)
        return model, edited(asked, before, after)


def other_model(model: Model, name: str) -> Model:
    """Another model of the same provider, or ``provider:name``.

    Raises:
        UsageError: Where there is no provider to ask it from.
    """
    if ":" in name:
        return infer_model(name)
    make: Any = type(model)
    try:
        made: Model = make(name, provider=model.provider, settings=model.settings)
    except TypeError as error:
        mend = f"write --model PROVIDER:{name}"
        raise UsageError(f"{type(model).__name__} cannot be asked for the model {name!r}", mend=mend) from error
    return made


class _Heard:
    """The events of a stream, as they are handed on; recorded when it is over."""

    def __init__(self, call: ModelCall) -> None:
        self._call = call
        self._stream: StreamedResponse | None = None
        self._events: list[ModelResponseStreamEvent] = []

    def listen_to(self, stream: StreamedResponse) -> None:
        """Hear every event of a stream."""
        self._stream = stream
        # The one iterator that all readers of a stream share.
        stream._event_iterator = self._listening(aiter(stream))

    async def _listening(
        self, events: AsyncIterator[ModelResponseStreamEvent]
    ) -> AsyncIterator[ModelResponseStreamEvent]:
        try:
            async for event in events:
                self._events.append(event)
                yield event
        except Exception as failure:
            self._call.fail(failure)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            self._call.returned(recorded_response(self._stream.get(), self._events))


def _delivered(call: ModelCall, answer: ModelAnswer) -> ModelResponse:
    if answer.failed:
        call.returned(answer.response)
        raise failure_of(answer)
    return response_of(call.deliver(answer))


def _recorded_stream(
    call: ModelCall, answer: ModelAnswer, parameters: ModelRequestParameters
) -> CompletedStreamedResponse:
    events = events_of(answer.response.raw)
    if not answer.failed or not events:
        response = _delivered(call, answer)
        return CompletedStreamedResponse(response, model_request_parameters=parameters, replay_events=events or True)
    failure = failure_of(answer)
    call.returned(answer.response)
    call.fail(failure)
    broken = _Broken(response_of(answer.response), model_request_parameters=parameters, replay_events=events)
    broken.failure = failure
    return broken


class _Broken(CompletedStreamedResponse):
    """A stream that breaks after its last event, as the recorded one did."""

    failure: Exception

    def __aiter__(self) -> AsyncIterator[ModelResponseStreamEvent]:
        if self._event_iterator is None:
            self._event_iterator = self._breaking(super().__aiter__())
        return self._event_iterator

    async def _breaking(
        self, events: AsyncIterator[ModelResponseStreamEvent]
    ) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in events:
            yield event
        raise self.failure
