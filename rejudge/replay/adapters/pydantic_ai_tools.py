"""The tools of a pydantic-ai agent, functions' and MCP servers' alike, on record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_ai import ApprovalRequired, CallDeferred, RunContext, ToolReturn
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnContent
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset
from pydantic_ai.toolsets.abstract import ToolsetTool

from rejudge.models.canonical import JsonValue
from rejudge.replay.adapters.results import as_returned
from rejudge.replay.answers import ToolAnswer
from rejudge.replay.calls import ToolCall
from rejudge.replay.values import jsonable

_MEDIA: Final = frozenset({"image-url", "audio-url", "document-url", "video-url", "binary", "uploaded-file"})
_content: Final[TypeAdapter[Any]] = TypeAdapter(ToolReturnContent)
_deferrals: Final[dict[str, Callable[[Any], Exception]]] = {
    "pydantic_ai.exceptions.ApprovalRequired": ApprovalRequired,
    "pydantic_ai.exceptions.CallDeferred": CallDeferred,
}


@dataclass
class RecordedToolset(WrapperToolset[Any]):
    """A toolset whose calls are on record, and answered from the tape in a replay."""

    sub_agents: frozenset[str] = frozenset()
    """Tools that are let run."""

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """The result, or the recorded one."""
        if name in self.sub_agents:
            return await self.wrapped.call_tool(name, tool_args, ctx, tool)
        function = _function(name, tool)
        with ToolCall(
            name,
            jsonable(tool_args),
            spellings=_as_asked(ctx),
            call_id=ctx.tool_call_id,
            description=(tool.tool_def.description or "").partition("\n")[0],
            function=function,
        ) as call:
            answer = call.ask()
            if answer is not None:
                return _delivered(call, answer, function)
            try:
                result = await self.wrapped.call_tool(name, tool_args, ctx, tool)
            except (ApprovalRequired, CallDeferred) as deferral:
                call.returned(deferral.metadata)
                raise
            call.returned(result)
            return result


def _function(name: str, tool: ToolsetTool[Any]) -> Callable[..., Any] | None:
    if not isinstance(tool.toolset, FunctionToolset):
        return None
    known = tool.toolset.tools.get(getattr(tool, "original_name", None) or name)
    return known.function if known is not None else None


def _as_asked(ctx: RunContext[Any]) -> list[dict[str, JsonValue]]:
    """The arguments as the model wrote them: the tool gets them validated."""
    for message in reversed(ctx.messages):
        if isinstance(message, ModelResponse):
            for part in message.parts:
                if isinstance(part, ToolCallPart) and part.tool_call_id == ctx.tool_call_id:
                    return [jsonable(part.args_as_dict())]
            break
    return []


def _delivered(call: ToolCall, answer: ToolAnswer, function: Callable[..., Any] | None) -> Any:
    deferral = _deferrals.get(answer.error_type or "") if answer.failed else None
    if deferral is not None:
        call.returned(answer.result)
        raise deferral(answer.result)
    if answer.failed:
        return call.deliver(answer)
    call.returned(answer.result)
    return _as_returned(answer.result, function)


def _as_returned(recorded: JsonValue, function: Callable[..., Any] | None) -> Any:
    """A recorded result as the tool gave it: what pydantic-ai has types of its own for, else the declared type."""
    if isinstance(recorded, dict) and recorded.get("kind") == "tool-return":
        value, content = recorded.get("return_value"), recorded.get("content")
        return ToolReturn(
            return_value=_as_returned(value, None),
            content=_content.validate_python(content) if content is not None else None,
            metadata=recorded.get("metadata"),
        )
    if _has_media(recorded):
        return _content.validate_python(recorded)
    return as_returned(function, recorded)


def _has_media(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return value.get("kind") in _MEDIA or any(map(_has_media, value.values()))
    return isinstance(value, list) and any(map(_has_media, value))
