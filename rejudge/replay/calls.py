"""One call of a tool or a model, from its span to its answer: what the decorator and every adapter are made of.

`call_tool` and `call_model` (and their ``_async`` twins) are all that most callers need. An adapter that cannot
wrap a call in one function uses `ToolCall` and `ModelCall`: enter, ``ask``, and either deliver the answer or make
the call and say what it returned.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from types import TracebackType
from typing import Any, Self

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span

from rejudge.errors import NoRecordedAnswer, ReplayEnded
from rejudge.models.canonical import JsonValue
from rejudge.replay.active import current_replay, parent_context
from rejudge.replay.answers import ModelAnswer, Replaying, ToolAnswer
from rejudge.replay.failures import recorded_failure
from rejudge.replay.request import ModelRequest, ModelResponse
from rejudge.replay.spans import (
    set_answer,
    set_failure,
    set_response,
    set_tool_result,
    start_model_span,
    start_tool_span,
)
from rejudge.replay.values import Misfit, jsonable, result_schema, typed_result

_call_id: ContextVar[str | None] = ContextVar("rejudge_tool_call_id", default=None)

_enclosing: ContextVar[_Call | None] = ContextVar("rejudge_enclosing_call", default=None)
"""The call that is being made: a wrapper below it that sees the same one has nothing to add."""


@contextmanager
def tool_call_id(call_id: str | None) -> Iterator[None]:
    """Give the tool calls made inside the id that the model gave them.

    Example:
        >>> with tool_call_id("call_1"):
        ...     pass  # refund_payment(**arguments)
    """
    token = _call_id.set(call_id)
    try:
        yield
    finally:
        _call_id.reset(token)


class _Call:
    """What calls of both kinds have in common: a span that is current while the call runs."""

    span: Span

    def __init__(self, *, current: bool, repeated: bool) -> None:
        self._current = current
        self._token: Any = None
        self._repeated = repeated
        self._replay: Replaying | None = None if repeated else current_replay()
        if self._replay is not None:
            self._replay.refuse_when_over()

    @property
    def replayed(self) -> bool:
        """Whether a replay decides on this call."""
        return self._replay is not None

    def attach(self) -> Any:
        """Make the span current; give back what `detach` wants."""
        if self._repeated:
            return None
        return otel_context.attach(trace.set_span_in_context(self.span)), _enclosing.set(self)

    def detach(self, token: Any) -> None:
        """Make current again what was."""
        if token is not None:
            otel_context.detach(token[0])
            with suppress(ValueError):  # entered and left in different contexts: each forgets by itself
                _enclosing.reset(token[1])

    def fail(self, error: BaseException) -> None:
        """Say that the call failed; the span stays open."""
        if isinstance(error, ReplayEnded | NoRecordedAnswer):
            set_answer(self.span, "miss", None)
        set_failure(self.span, error)

    def close(self) -> None:
        """End the span."""
        self.span.end()

    def __enter__(self) -> Self:
        if self._current:
            self._token = self.attach()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace_back: TracebackType | None
    ) -> None:
        # A generator that its reader had enough of has not failed.
        if error is not None and not isinstance(error, GeneratorExit):
            self.fail(error)
        if self._token is not None:
            self.detach(self._token)
        self.close()


class ToolCall(_Call):
    """One call of a tool.

    Args:
        name: The tool's name, as the model knows it.
        arguments: JSON values by name (`jsonable` makes them so).
        spellings: Other spellings of the same arguments, tried where this one was not recorded.
        call_id: The id that the model gave the call.
        function: The tool: its return annotation types recorded results, its module helps to find exceptions.
        current: False leaves the current span alone, for code that is entered and left in different contexts.
    """

    def __init__(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        spellings: Sequence[Mapping[str, JsonValue]] = (),
        call_id: str | None = None,
        description: str | None = None,
        function: Callable[..., Any] | None = None,
        current: bool = True,
    ) -> None:
        around = _enclosing.get()
        same = isinstance(around, ToolCall) and (around.name, around.arguments) == (name, arguments)
        super().__init__(current=current, repeated=same)
        self.name: str = name
        self.arguments: Mapping[str, JsonValue] = arguments
        self._spellings = spellings
        self._call_id = call_id if call_id is not None else _call_id.get()
        self._function = function
        self.span = (
            trace.INVALID_SPAN
            if same
            else start_tool_span(
                name, arguments, call_id=self._call_id, description=description, context=parent_context()
            )
        )

    def ask(self) -> ToolAnswer | None:
        """The answer to this call; None: make it.

        Raises:
            ReplayEnded: The replay is over.
            NoRecordedAnswer: Nothing answers it, and the agent is to cope with that.
        """
        if self._replay is None:
            return None
        schema = partial(result_schema, self._function) if self._function is not None else None
        answer = self._replay.ask_tool(
            self.name, self.arguments, spellings=self._spellings, call_id=self._call_id, schema=schema
        )
        set_answer(self.span, *(("live", None) if answer is None else (answer.source, answer.node_id)))
        return answer

    def deliver(self, answer: ToolAnswer) -> Any:
        """The recorded result as the tool's declared type, or the recorded failure raised.

        Raises:
            ReplayEnded: The recorded result is not of the declared type.
        """
        if answer.failed:
            raise recorded_failure(answer.error_type, answer.error or "", function=self._function)
        try:
            result = typed_result(self._function, answer.result)
        except Misfit as misfit:
            assert self._replay is not None
            self._replay.misfit(self.name, self.arguments, str(misfit))
        set_tool_result(self.span, answer.result)
        return result

    def returned(self, result: object) -> None:
        """Say what the call returned."""
        if self.span.is_recording():
            set_tool_result(self.span, jsonable(result))


class ModelCall(_Call):
    """One request to a model.

    Args:
        request: As the agent means to send it. After `ask`, ``request`` is what is to be sent.
        current: See `ToolCall`.
    """

    def __init__(self, request: ModelRequest, *, current: bool = True) -> None:
        super().__init__(current=current, repeated=isinstance(_enclosing.get(), ModelCall))
        self._answer: ModelAnswer | None = None
        self._refused: BaseException | None = None
        self.request = request
        # Asked before the span is opened: its name and its attributes are those of the request that is sent.
        if self._replay is not None:
            try:
                self.request, self._answer = self._replay.ask_model(request)
            except (ReplayEnded, NoRecordedAnswer) as refused:
                self._refused = refused
                if isinstance(refused.request, ModelRequest):
                    self.request = refused.request
        self.span = trace.INVALID_SPAN if self._repeated else start_model_span(self.request, context=parent_context())

    def ask(self) -> ModelAnswer | None:
        """The answer to this request; None: send `request`.

        Raises:
            ReplayEnded: The replay is over.
            NoRecordedAnswer: Nothing answers it, and the agent is to cope with that.
        """
        if self._refused is not None:
            raise self._refused
        if self._replay is not None:
            answer = self._answer
            set_answer(self.span, *(("live", None) if answer is None else ("history", answer.node_id)))
        return self._answer

    def deliver(self, answer: ModelAnswer) -> ModelResponse:
        """The recorded response, or the recorded failure raised."""
        if answer.failed:
            raise recorded_failure(answer.error_type, answer.error or "")
        self.returned(answer.response)
        return answer.response

    def returned(self, response: ModelResponse) -> None:
        """Say what the model answered."""
        if self.span.is_recording():
            set_response(self.span, response)


def call_tool(name: str, arguments: Mapping[str, JsonValue], make: Callable[[], Any], **options: Any) -> Any:
    """Call a tool, or get its recorded answer.

    Args:
        make: Makes the call. Not called where the replay answers.
        options: As for `ToolCall`.
    """
    with ToolCall(name, arguments, **options) as call:
        answer = call.ask()
        if answer is not None:
            return call.deliver(answer)
        result = make()
        call.returned(result)
        return result


async def call_tool_async(
    name: str, arguments: Mapping[str, JsonValue], make: Callable[[], Awaitable[Any]], **options: Any
) -> Any:
    """As `call_tool`, for a call that is awaited."""
    with ToolCall(name, arguments, **options) as call:
        answer = call.ask()
        if answer is not None:
            return call.deliver(answer)
        result = await make()
        call.returned(result)
        return result


def call_model(request: ModelRequest, send: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
    """Ask a model, or get its recorded answer.

    Args:
        send: Sends the request it is given, which has the override in it. Not called where the replay answers.
    """
    with ModelCall(request) as call:
        answer = call.ask()
        if answer is not None:
            return call.deliver(answer)
        response = send(call.request)
        call.returned(response)
        return response


async def call_model_async(
    request: ModelRequest, send: Callable[[ModelRequest], Awaitable[ModelResponse]]
) -> ModelResponse:
    """As `call_model`, for a request that is awaited."""
    with ModelCall(request) as call:
        answer = call.ask()
        if answer is not None:
            return call.deliver(answer)
        response = await send(call.request)
        call.returned(response)
        return response
