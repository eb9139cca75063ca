"""``@rejudge.tool``: a function whose calls are recorded, and answered from the tape in a replay."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from functools import partial, update_wrapper
from typing import Any, ParamSpec, TypeVar, overload

from rejudge.models.canonical import JsonValue
from rejudge.replay.active import current_replay
from rejudge.replay.answers import ToolAnswer
from rejudge.replay.calls import ToolCall
from rejudge.replay.failures import recorded_failure
from rejudge.replay.spans import is_recorded, set_tool_result
from rejudge.replay.values import jsonable

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@overload
def tool(function: Callable[Arguments, Result], /) -> Callable[Arguments, Result]: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, description: str | None = None
) -> Any:
    """Make a function's calls steps of the session: each writes a standard ``execute_tool`` span.

    In a replay the recorded result is returned, as the declared return type, and the body does not run, unless
    the tool's policy says otherwise. Works on functions, coroutines, generators and async generators; nothing
    changes outside of a replay.

    Args:
        name: As the model knows it; the function's own by default.
        description: What it does; the docstring's first line by default.

    Example:
        >>> @tool
        ... def add(left: int, right: int) -> int:
        ...     return left + right
        >>> add(1, right=2)
        3
    """
    if function is None:
        return partial(_wrapped, name=name, description=description)
    return _wrapped(function, name=name, description=description)


def _wrapped(function: Callable[..., Any], *, name: str | None, description: str | None) -> Callable[..., Any]:
    made = _Tool(function, name=name, description=description)
    called = function if inspect.isroutine(function) or isinstance(function, partial) else type(function).__call__
    if inspect.isasyncgenfunction(called):
        wrapper = _async_generator(made)
    elif inspect.isgeneratorfunction(called):
        wrapper = _generator(made)
    elif inspect.iscoroutinefunction(called):
        wrapper = _coroutine(made)
    else:
        wrapper = _function(made)
    return update_wrapper(wrapper, function)


class _Tool:
    """What is known of a decorated function before it is called."""

    def __init__(self, function: Callable[..., Any], *, name: str | None, description: str | None) -> None:
        self.function = function
        self.name: str = name or getattr(function, "__name__", None) or type(function).__name__
        doc = inspect.getdoc(function) or ""
        self.description = description or doc.partition("\n")[0]
        self.signature = inspect.signature(function)
        self._owner = _owner_parameter(function, self.signature)
        self._defaults = {
            parameter.name: jsonable(parameter.default)
            for parameter in self.signature.parameters.values()
            if parameter.default is not inspect.Parameter.empty
        }

    @property
    def idle(self) -> bool:
        """Whether nobody listens: the call is simply made."""
        return current_replay() is None and not is_recorded()

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, current: bool = True) -> ToolCall:
        """The call with these arguments.

        Raises:
            TypeError: As the function itself would for arguments that do not fit.
        """
        arguments = self._arguments(args, kwargs)
        return ToolCall(
            self.name,
            arguments,
            spellings=self._spellings(arguments),
            description=self.description,
            function=self.function,
            current=current,
        )

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, JsonValue]:
        bound = self.signature.bind(*args, **kwargs)
        arguments: dict[str, JsonValue] = {}
        for name, value in bound.arguments.items():
            if name == self._owner:
                continue
            if self.signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
                arguments.update(jsonable(value))
            else:
                arguments[name] = jsonable(value)
        return arguments

    def _spellings(self, arguments: dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
        """The same arguments with defaults filled in, and without them: frameworks record either."""
        lean = {
            name: value
            for name, value in arguments.items()
            if not _is_placeholder(value) and not (name in self._defaults and self._defaults[name] == value)
        }
        full = {**self._defaults, **arguments}
        return [spelling for spelling in (full, lean) if spelling != arguments]


def _owner_parameter(function: Callable[..., Any], signature: inspect.Signature) -> str | None:
    """``self`` or ``cls`` of a function in a class body: no argument of the call."""
    first = next(iter(signature.parameters), None)
    qualified = getattr(function, "__qualname__", "")
    in_class = "." in qualified.rpartition("<locals>.")[2]
    return first if in_class and first in {"self", "cls"} else None


def _is_placeholder(value: JsonValue) -> bool:
    return isinstance(value, str) and value.startswith("<") and value.endswith(">")


def _function(tool: _Tool) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        if tool.idle:
            return tool.function(*args, **kwargs)
        with tool.call(args, kwargs) as call:
            answer = call.ask()
            if answer is not None:
                return call.deliver(answer)
            result = tool.function(*args, **kwargs)
            call.returned(result)
            return result

    return wrapper


def _coroutine(tool: _Tool) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        if tool.idle:
            return await tool.function(*args, **kwargs)
        with tool.call(args, kwargs) as call:
            answer = call.ask()
            if answer is not None:
                return call.deliver(answer)
            result = await tool.function(*args, **kwargs)
            call.returned(result)
            return result

    return wrapper


def _generator(tool: _Tool) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        if tool.idle:
            return (yield from tool.function(*args, **kwargs))
        with tool.call(args, kwargs, current=False) as call:
            answer = call.ask()
            if answer is not None:
                yield from _recorded_items(call, answer)
                return None
            return (yield from _live_items(call, tool.function(*args, **kwargs)))

    return wrapper


def _live_items(call: ToolCall, items: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Each item as it comes; the span is current only while the generator itself runs."""
    kept: list[Any] = []
    sent: Any = None
    try:
        while True:
            token = call.attach()
            try:
                item = items.send(sent)
            except StopIteration as end:
                return end.value
            finally:
                call.detach(token)
            kept.append(jsonable(item))
            sent = yield item
    finally:
        items.close()
        set_tool_result(call.span, kept)


def _async_generator(tool: _Tool) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        if tool.idle:
            async for item in tool.function(*args, **kwargs):
                yield item
            return
        with tool.call(args, kwargs, current=False) as call:
            answer = call.ask()
            if answer is not None:
                for item in _recorded_items(call, answer):
                    yield item
                return
            live = _live_async_items(call, tool.function(*args, **kwargs))
            try:
                async for item in live:
                    yield item
            finally:
                await live.aclose()

    return wrapper


async def _live_async_items(call: ToolCall, items: AsyncGenerator[Any, Any]) -> AsyncGenerator[Any, Any]:
    kept: list[Any] = []
    try:
        while True:
            token = call.attach()
            try:
                item = await anext(items)
            except StopAsyncIteration:
                return
            finally:
                call.detach(token)
            kept.append(jsonable(item))
            yield item
    finally:
        await items.aclose()
        set_tool_result(call.span, kept)


def _recorded_items(call: ToolCall, answer: ToolAnswer) -> Generator[Any, None, None]:
    """The items that were recorded, and the failure after them where there was one."""
    if answer.failed:
        if isinstance(answer.result, list):
            set_tool_result(call.span, answer.result)
            yield from answer.result
        raise recorded_failure(answer.error_type, answer.error or "")
    recorded = call.deliver(answer)
    yield from recorded if isinstance(recorded, list | tuple) else [recorded]
