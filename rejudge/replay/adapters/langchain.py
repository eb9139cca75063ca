"""LangChain and LangGraph: chat models and tools on record, and answered in a replay.

agent = create_agent(replayable(ChatOpenAI(model="gpt-5")), tools=replayable([look_up, refund]))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, overload

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import RunnableBinding
from langchain_core.tools import BaseTool

from rejudge.errors import UsageError
from rejudge.replay.adapters.langchain_mcp import Client, is_client, recorded_client
from rejudge.replay.adapters.langchain_model import recorded_model
from rejudge.replay.adapters.langchain_tools import recorded_tool
from rejudge.replay.adapters.table import LANGCHAIN as CAPABILITIES

__all__ = ["CAPABILITIES", "replayable"]

Model = TypeVar("Model", bound=BaseChatModel)
Tool = TypeVar("Tool", bound=BaseTool)


@overload
def replayable(target: Model) -> Model: ...


@overload
def replayable(target: Tool) -> Tool: ...


@overload
def replayable(target: Sequence[Tool]) -> list[Tool]: ...


@overload
def replayable(target: Client) -> Client: ...


@overload
def replayable(target: RunnableBinding[Any, Any]) -> RunnableBinding[Any, Any]: ...


def replayable(target: Any) -> Any:
    """The same chat model, tool, list of tools or MCP client, on record and answered from the tape in a replay.

    It is of the same class, has the same clients, and works wherever the original does: in a chain, in
    `create_agent`, in a `ToolNode`. A tool that runs another agent is better left as it is: wrap what is inside.
    The tools that a `MultiServerMCPClient` gives are on record by themselves; bind them to a model that is, too.

    Raises:
        UsageError: For what is none of these, and for models that cannot be intercepted.
    """
    if isinstance(target, BaseTool):
        return recorded_tool(target)
    if isinstance(target, BaseChatModel):
        return recorded_model(target)
    if isinstance(target, RunnableBinding) and isinstance(target.bound, BaseChatModel):
        return target.model_copy(update={"bound": recorded_model(target.bound)})
    if is_client(target):
        return recorded_client(target)
    if isinstance(target, Sequence) and all(isinstance(item, BaseTool) for item in target):
        return [recorded_tool(item) for item in target]
    raise UsageError(
        f"the langchain adapter does not intercept {type(target).__module__}.{type(target).__qualname__}",
        mend="give it a chat model, a tool, a list of tools, or a MultiServerMCPClient",
    )
