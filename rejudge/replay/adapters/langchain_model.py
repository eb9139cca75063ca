"""Chat models of LangChain on record, at the methods that a chat model implements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from types import new_class
from typing import Any, Final, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from rejudge.errors import UsageError
from rejudge.replay.adapters.edits import changed_parameters
from rejudge.replay.adapters.langchain_mcp import with_marks, without_marks
from rejudge.replay.adapters.langchain_messages import (
    chunks_of,
    edited_messages,
    recorded_chunks,
    recorded_result,
    request_of,
    result_of,
)
from rejudge.replay.answers import ModelAnswer
from rejudge.replay.calls import ModelCall
from rejudge.replay.failures import recorded_failure

_asking: ContextVar[tuple[int, ...]] = ContextVar("rejudge_langchain_models", default=())
"""Models that are answering already: what one calls of itself is part of its answer."""

_METHODS: Final = ("_generate", "_agenerate", "_stream", "_astream", "bind_tools")
_NATIVE: Final = ("_stream_chat_model_events", "_astream_chat_model_events")
_NAMES: Final = ("model_name", "model", "model_id", "deployment_name")
Model = TypeVar("Model", bound=BaseChatModel)


def recorded_model(model: Model) -> Model:
    """The model, of a class that differs from its own in that requests are on record.

    Raises:
        UsageError: For a model that streams past those methods.
    """
    kind = type(model)
    if getattr(kind, "_rejudge_recorded", False):
        return model
    if any(getattr(kind, name, None) is not None for name in _NATIVE):
        raise UsageError(
            f"the langchain adapter does not intercept {kind.__name__}: it makes stream events of its own",
            mend="record its HTTP client instead, where it takes one",
        )
    copied = model.model_copy()
    copied.__class__ = _recorded_class(kind)
    return copied


@lru_cache(maxsize=256)
def _recorded_class(kind: type[BaseChatModel]) -> Any:
    # Only what the class itself implements: LangChain looks at which of them are.
    methods = {name: _WRAPPERS[name](getattr(kind, name)) for name in _METHODS if _implements(kind, name)}
    marks = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    body = {**methods, **marks, "_rejudge_recorded": True}
    return new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(body))


def _implements(kind: type[BaseChatModel], name: str) -> bool:
    return getattr(kind, name) is not getattr(BaseChatModel, name)


class _Asked:
    """One request: its open call, and what is to be sent."""

    def __init__(self, model: Any, messages: list[BaseMessage], stop: Any, kwargs: dict[str, Any]) -> None:
        self.model, self.messages, self.kwargs = model, messages, without_marks(dict(kwargs))
        self._before = request_of(model, messages, stop, kwargs)
        self.call = ModelCall(self._before, current=False)

    def edit(self) -> None:
        """Put in what a fork changed."""
        before, after = self._before, self.call.request
        if before == after:
            return
        self.messages = edited_messages(self.messages, before, after)
        changed = changed_parameters(before, after)
        fields = type(self.model).model_fields
        updates = {name: value for name, value in changed.items() if name in fields}
        self.kwargs.update({name: value for name, value in changed.items() if name not in fields})
        if after.model != before.model:
            updates[_name_field(self.model, before.model)] = after.model
        self.model = self.model.model_copy(update=updates)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """The call's span is current, and what the model calls of itself is let through."""
        span = self.call.attach()
        token = _asking.set((*_asking.get(), id(self.model)))
        try:
            yield
        finally:
            _asking.reset(token)
            self.call.detach(span)


def _name_field(model: Any, name: str) -> str:
    for field in _NAMES:
        if field in type(model).model_fields and getattr(model, field, None) == name:
            return field
    raise UsageError(
        f"{type(model).__name__} cannot be asked for another model than {name!r}",
        mend=f"its fields {', '.join(_NAMES)} are looked at; none holds that name",
    )


def _is_inside(model: Any) -> bool:
    return id(model) in _asking.get()


def _answered(call: ModelCall, answer: ModelAnswer) -> ChatResult:
    if answer.failed:
        call.returned(answer.response)
        raise recorded_failure(answer.error_type, answer.error or "")
    return result_of(call.deliver(answer))


def _generate(original: Callable[..., ChatResult]) -> Callable[..., ChatResult]:
    @wraps(original)
    def recorded(self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        if _is_inside(self):
            return original(self, messages, stop=stop, run_manager=run_manager, **kwargs)
        asked = _Asked(self, messages, stop, kwargs)
        with asked.call as call:
            answer = call.ask()
            if answer is not None:
                return _answered(call, answer)
            asked.edit()
            with asked.sending():
                result = original(asked.model, asked.messages, stop=stop, run_manager=run_manager, **asked.kwargs)
            call.returned(recorded_result(result))
            return result

    return recorded


def _agenerate(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def recorded(
        self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        if _is_inside(self):
            return await original(self, messages, stop=stop, run_manager=run_manager, **kwargs)  # type: ignore[no-any-return]
        asked = _Asked(self, messages, stop, kwargs)
        with asked.call as call:
            answer = call.ask()
            if answer is not None:
                return _answered(call, answer)
            asked.edit()
            with asked.sending():
                result: ChatResult = await original(
                    asked.model, asked.messages, stop=stop, run_manager=run_manager, **asked.kwargs
                )
            call.returned(recorded_result(result))
            return result

    return recorded


def _stream(original: Callable[..., Iterator[ChatGenerationChunk]]) -> Callable[..., Iterator[ChatGenerationChunk]]:
    @wraps(original)
    def recorded(
        self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        if _is_inside(self):
            yield from original(self, messages, stop=stop, run_manager=run_manager, **kwargs)
            return
        asked = _Asked(self, messages, stop, kwargs)
        with asked.call as call, _Streamed(call) as streamed:
            answer = call.ask()
            if answer is not None:
                for chunk in streamed.answer(answer):
                    if run_manager is not None:
                        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
                streamed.fail_again(answer)
                return
            asked.edit()
            with asked.sending():
                chunks = original(asked.model, asked.messages, stop=stop, run_manager=run_manager, **asked.kwargs)
            while True:
                with asked.sending():
                    chunk_or_none = next(chunks, None)
                if chunk_or_none is None:
                    return
                streamed.take(chunk_or_none)
                yield chunk_or_none

    return recorded


def _astream(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def recorded(
        self: Any, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        if _is_inside(self):
            async for chunk in original(self, messages, stop=stop, run_manager=run_manager, **kwargs):
                yield chunk
            return
        asked = _Asked(self, messages, stop, kwargs)
        with asked.call as call, _Streamed(call) as streamed:
            answer = call.ask()
            if answer is not None:
                for chunk in streamed.answer(answer):
                    if run_manager is not None:
                        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk
                streamed.fail_again(answer)
                return
            asked.edit()
            with asked.sending():
                chunks = original(asked.model, asked.messages, stop=stop, run_manager=run_manager, **asked.kwargs)
            while True:
                with asked.sending():
                    chunk_or_none = await anext(chunks, None)
                if chunk_or_none is None:
                    return
                streamed.take(chunk_or_none)
                yield chunk_or_none

    return recorded


def _bind_tools(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def marked(self: Any, tools: Any, **kwargs: Any) -> Any:
        return with_marks(original(self, tools, **kwargs), tools)

    return marked


class _Streamed:
    """The chunks of a stream, as they are handed on; recorded when it is over."""

    def __init__(self, call: ModelCall) -> None:
        self._call = call
        self._chunks: list[ChatGenerationChunk] = []

    def __enter__(self) -> _Streamed:
        return self

    def __exit__(self, *error: object) -> None:
        if self._chunks:
            self._call.returned(recorded_chunks(self._chunks))

    def take(self, chunk: ChatGenerationChunk) -> None:
        """Keep a chunk as it is now: LangChain goes on writing into it."""
        self._chunks.append(chunk.model_copy(deep=True))

    def answer(self, answer: ModelAnswer) -> list[ChatGenerationChunk]:
        """The recorded chunks."""
        if answer.failed:
            self._call.returned(answer.response)
            return chunks_of(answer.response, whole=False)
        return chunks_of(self._call.deliver(answer))

    def fail_again(self, answer: ModelAnswer) -> None:
        """Break where the recorded stream broke."""
        if answer.failed:
            raise recorded_failure(answer.error_type, answer.error or "")


_WRAPPERS: Final[dict[str, Callable[[Any], Any]]] = {
    "_generate": _generate,
    "_agenerate": _agenerate,
    "_stream": _stream,
    "_astream": _astream,
    "bind_tools": _bind_tools,
}
