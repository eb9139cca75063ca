"""Tools of LangChain on record, at the methods that a tool implements."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, wraps
from types import new_class
from typing import Any, Final, TypeVar

from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.tools import BaseTool, ToolException
from langgraph.errors import GraphInterrupt
from langgraph.types import Command, Interrupt, Send

from rejudge.models.canonical import JsonValue
from rejudge.replay.adapters.results import as_returned
from rejudge.replay.answers import ToolAnswer
from rejudge.replay.calls import ToolCall, tool_call_id
from rejudge.replay.values import jsonable

_running: ContextVar[tuple[int, ...]] = ContextVar("rejudge_langchain_tools", default=())
"""Tools that are running already: an asynchronous call may be made by the synchronous method."""

_asked: ContextVar[Any] = ContextVar("rejudge_langchain_input", default=None)
"""The arguments as the model wrote them."""

_CONTENT: Final = "tool_content"
"""On the error of an MCP tool: what the model is shown."""

Tool = TypeVar("Tool", bound=BaseTool)


def recorded_tool(tool: Tool) -> Tool:
    """The tool, of a class that differs from its own in that calls are on record."""
    kind = type(tool)
    if getattr(kind, "_rejudge_recorded", False):
        return tool
    copied = tool.model_copy()
    copied.__class__ = _recorded_class(kind)
    return copied


@lru_cache(maxsize=256)
def _recorded_class(kind: type[BaseTool]) -> Any:
    methods = {name: wrap(getattr(kind, name)) for name, wrap in _WRAPPERS.items()}
    marks = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    body = {**methods, **marks, "_rejudge_recorded": True}
    return new_class(kind.__name__, (kind,), exec_body=lambda names: names.update(body))


def _run(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _running.get():
            return original(self, *args, **kwargs)
        with _call(self, args, kwargs) as call:
            answer = call.ask()
            if answer is not None:
                return _delivered(self, call, answer)
            with _inside(self), _noting_failure(call):
                result = original(self, *args, **kwargs)
            call.returned(_shown(self, result))
            return result

    return recorded


def _arun(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def recorded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _running.get():
            return await original(self, *args, **kwargs)
        with _call(self, args, kwargs) as call:
            answer = call.ask()
            if answer is not None:
                return _delivered(self, call, answer)
            with _inside(self), _noting_failure(call):
                result = await original(self, *args, **kwargs)
            call.returned(_shown(self, result))
            return result

    return recorded


def _entry(original: Callable[..., Any]) -> Callable[..., Any]:
    """`run` and `arun`: they know what the model gave, the methods below do not."""

    @wraps(original)
    def noted(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with tool_call_id(kwargs.get("tool_call_id")), _noted(tool_input):
            return original(self, tool_input, *args, **kwargs)

    return noted


def _async_entry(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    async def noted(self: Any, tool_input: Any, *args: Any, **kwargs: Any) -> Any:
        with tool_call_id(kwargs.get("tool_call_id")), _noted(tool_input):
            return await original(self, tool_input, *args, **kwargs)

    return noted


_WRAPPERS: Final[dict[str, Callable[[Any], Any]]] = {
    "_run": _run,
    "_arun": _arun,
    "run": _entry,
    "arun": _async_entry,
}


@contextmanager
def _noted(tool_input: Any) -> Any:
    token = _asked.set(tool_input)
    try:
        yield
    finally:
        _asked.reset(token)


@contextmanager
def _inside(tool: Any) -> Any:
    token = _running.set((*_running.get(), id(tool)))
    try:
        yield
    finally:
        _running.reset(token)


@contextmanager
def _noting_failure(call: ToolCall) -> Any:
    """What a failure holds beside its text is its result."""
    try:
        yield
    except GraphInterrupt as interrupt:
        call.returned(_dumped(interrupt))
        raise
    except ToolException as error:
        if content := getattr(error, _CONTENT, None):
            call.returned({"lc": "tool_error", "value": jsonable(content)})
        raise


def _call(tool: BaseTool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolCall:
    visible = _argument_names(tool)
    given: dict[str, Any] = {**dict(zip(visible, args, strict=False)), **kwargs}
    arguments = {name: jsonable(value) for name, value in given.items() if name in visible}
    return ToolCall(
        tool.name,
        arguments,
        spellings=_spellings(visible, arguments),
        description=tool.description.partition("\n")[0],
        function=_function(tool),
    )


def _argument_names(tool: BaseTool) -> list[str]:
    """The arguments that the model gives: not those that LangGraph injects."""
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return list(schema.get("properties") or ())
    fields: Any = getattr(schema, "model_fields", None)
    if fields is None:
        fields = schema.__fields__  # a model of pydantic's first version
    return list(fields)


def _spellings(visible: list[str], arguments: dict[str, JsonValue]) -> list[Any]:
    """As the model wrote them; and a single argument by itself, which is how some instrumentations record it."""
    asked = _asked.get()
    as_asked = [jsonable({name: asked[name] for name in visible if name in asked})] if isinstance(asked, dict) else []
    alone = list(arguments.values()) if len(arguments) == 1 else []
    return [spelling for spelling in (*as_asked, *alone) if spelling != arguments]


def _function(tool: BaseTool) -> Callable[..., Any] | None:
    return getattr(tool, "func", None) or getattr(tool, "coroutine", None)


def _shown(tool: Any, result: Any) -> JsonValue:
    """The result as JSON from which it can be had again, else as the text that the model is shown."""
    plain = _dumped(result)
    if plain == result or _loaded(plain) != plain or tool.response_format == "content_and_artifact":
        return plain
    return plain if as_returned(_function(tool), plain) == result else str(result)


def _dumped(value: Any) -> JsonValue:
    """A result as JSON, with LangChain's and LangGraph's own types told apart."""
    if isinstance(value, BaseMessage):
        return {"lc": "message", "value": jsonable(message_to_dict(value))}
    if isinstance(value, Command):
        goto = [_dumped(one) for one in value.goto] if isinstance(value.goto, list | tuple) else _dumped(value.goto)
        facts = {"graph": value.graph, "update": _dumped(value.update), "resume": _dumped(value.resume), "goto": goto}
        return {"lc": "command", **facts}
    if isinstance(value, Send):
        return {"lc": "send", "node": value.node, "arg": _dumped(value.arg)}
    if isinstance(value, GraphInterrupt):
        raised = value.args[0] if value.args else ()
        return {"lc": "interrupt", "value": [{"value": jsonable(one.value), "id": one.id} for one in raised]}
    if isinstance(value, dict):
        return {str(key): _dumped(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_dumped(item) for item in value]
    return jsonable(value)


def _loaded(value: JsonValue) -> Any:
    if isinstance(value, list):
        return [_loaded(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value.get("lc")
    if kind == "message":
        [message] = messages_from_dict([value["value"]])
        return message
    if kind == "command":
        goto = _loaded(value.get("goto"))
        return Command(
            graph=value.get("graph"),
            update=_loaded(value.get("update")),
            resume=_loaded(value.get("resume")),
            goto=goto,
        )
    if kind == "send":
        return Send(value["node"], _loaded(value.get("arg")))
    if value.get("type") == "tool" and isinstance(value.get("data"), dict):
        return value["data"].get("content")  # the message around the result, in an imported trace
    return {key: _loaded(item) for key, item in value.items()}


def _delivered(tool: Any, call: ToolCall, answer: ToolAnswer) -> Any:
    recorded = answer.result
    if not answer.failed:
        call.returned(recorded)
        loaded = _loaded(recorded)
        if tool.response_format == "content_and_artifact":
            return tuple(loaded) if isinstance(loaded, list) and len(loaded) == 2 else (loaded, None)
        return loaded if loaded != recorded else as_returned(_function(tool), recorded)
    with _noting_failure(call):
        return _failed_again(tool, call, answer)


def _failed_again(tool: Any, call: ToolCall, answer: ToolAnswer) -> Any:
    recorded: Any = answer.result if isinstance(answer.result, dict) else {}
    if recorded.get("lc") == "interrupt":
        raise GraphInterrupt(tuple(Interrupt(value=one["value"], id=one["id"]) for one in recorded["value"]))
    try:
        return call.deliver(answer)
    except ToolException as error:
        if type(error).__module__ == "langchain_mcp_adapters.tools":
            # Where it has none, what handles it shows the text.
            setattr(error, _CONTENT, recorded["value"] if recorded.get("lc") == "tool_error" else [])
        raise
