"""The function tools of an agent of the OpenAI Agents SDK, on record."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import orjson
from agents import FunctionTool, get_current_span
from agents.tool_context import ToolContext
from pydantic import BaseModel

from rejudge.models.canonical import JsonValue, canonical_bytes
from rejudge.replay.adapters.results import as_returned
from rejudge.replay.answers import ToolAnswer
from rejudge.replay.calls import ToolCall
from rejudge.replay.values import jsonable

_MARK: Final = "_rejudge_recorded"


class ToolFailed(Exception):
    """A tool raised, and the SDK told the model so."""


def record_tool(tool: FunctionTool) -> None:
    """Put a tool's calls on record, in place."""
    invoke = tool.on_invoke_tool
    if getattr(invoke, _MARK, False):
        return
    function = _function(tool)

    async def on_record(context: ToolContext[Any], arguments: str) -> Any:
        with ToolCall(
            tool.name,
            _arguments(arguments),
            call_id=getattr(context, "tool_call_id", None),
            description=tool.description.partition("\n")[0],
            function=function,
        ) as call:
            answer = call.ask()
            if answer is not None:
                return _delivered(call, answer, function)
            known = _error()
            result = await invoke(context, arguments)
            call.returned(_shown(result))
            failed = _error()
            if failed is not None and failed is not known:
                _say_failed(call, _text(failed))
            return result

    # Whoever looks at the invoker (the SDK looks at its signature) sees the one below.
    recorded = wraps(invoke)(on_record) if callable(getattr(invoke, "__code__", None)) else on_record
    setattr(recorded, _MARK, True)
    tool.on_invoke_tool = recorded


def _function(tool: FunctionTool) -> Callable[..., Any] | None:
    function = getattr(tool, "__wrapped__", None)
    return function if callable(function) else None


def _arguments(text: str) -> dict[str, JsonValue]:
    try:
        loaded = orjson.loads(text) if text else {}
    except ValueError:
        return {"input": text}
    return loaded if isinstance(loaded, dict) else {"input": loaded}


def _error() -> Any:
    """What the SDK's own span of this call says of a failure that the model was told."""
    span = get_current_span()
    return span.error if span is not None else None


def _text(error: Any) -> str:
    if not isinstance(error, dict):
        return str(error)
    detail = (error.get("data") or {}).get("error")
    return ": ".join(str(part) for part in (error.get("message"), detail) if part)


def _say_failed(call: ToolCall, text: str) -> None:
    call.fail(ToolFailed(text))
    call.span.set_attribute("error.type", "tool_error")


def _shown(result: Any) -> JsonValue:
    """The result as JSON where that is all there is to it, else as the text that the model is shown."""
    if isinstance(result, BaseModel) or (
        isinstance(result, list) and any(isinstance(one, BaseModel) for one in result)
    ):
        return jsonable(result)
    plain = jsonable(result)
    try:
        whole = type(plain) is type(result) and plain == result and bool(canonical_bytes(plain))
    except ValueError:
        whole = False
    return plain if whole else str(result)


def _delivered(call: ToolCall, answer: ToolAnswer, function: Callable[..., Any] | None) -> Any:
    if not answer.failed:
        call.returned(answer.result)
        return as_returned(function, answer.result)
    if answer.result is None:
        return call.deliver(answer)
    call.returned(answer.result)
    _say_failed(call, answer.error or "")
    return answer.result
