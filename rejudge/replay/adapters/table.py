"""What each adapter intercepts: told from code, printed by the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter intercepts, one sentence each: ``yes`` or ``no`` first, then how."""

    adapter: str
    """Its module's name in ``rejudge.adapters``, and the extra that installs what it needs."""
    seam: str
    """Where in the framework it stands."""
    models: str
    streaming: str
    tools: str
    parallel: str
    """Calls that run side by side."""
    sub_agents: str
    """Sub-agents and handoffs."""
    mcp: str
    """Tools of MCP servers."""
    imported_sessions: str
    """Sessions that something else recorded."""
    refused: str
    """What it cannot intercept; a replay that would need it is refused."""


OPENAI: Final = Capabilities(
    adapter="openai",
    seam="the HTTP transport of `OpenAI` and `AsyncOpenAI`, Azure's too",
    models="yes: chat completions and responses",
    streaming="yes: the recorded chunks, one by one",
    tools="no: the client calls none; put `@rejudge.tool` on yours",
    parallel="yes",
    sub_agents="yes: whatever asks through the client",
    mcp="no: `@rejudge.tool` on the function that calls the server",
    imported_sessions="yes: bodies and streams are made of the recorded messages",
    refused="clients over a transport of another library; websockets; every other endpoint (embeddings, files, "
    "background responses), unless it is let through by name",
)

ANTHROPIC: Final = Capabilities(
    adapter="anthropic",
    seam="the HTTP transport of `Anthropic` and `AsyncAnthropic`",
    models="yes: messages",
    streaming="yes: the recorded events, one by one",
    tools="no: the client calls none; put `@rejudge.tool` on yours, tool runners' included",
    parallel="yes",
    sub_agents="yes: whatever asks through the client",
    mcp="no: `@rejudge.tool` on the function that calls the server",
    imported_sessions="yes: bodies and streams are made of the recorded messages",
    refused="clients of Bedrock and Vertex; every other endpoint (batches, files, token counts), unless it is let "
    "through by name",
)


PYDANTIC_AI: Final = Capabilities(
    adapter="pydantic_ai",
    seam="a capability: `Agent(…, capabilities=[Replayable()])`, innermost of the agent's own",
    models="yes: every model, through a `WrapperModel`",
    streaming="yes: the recorded events, one by one",
    tools="yes: functions, `ModelRetry`, approvals and deferred calls, media in results",
    parallel="yes",
    sub_agents="yes: an agent with the capability inside a tool; `sub_agents=[…]` has the tool run in a replay",
    mcp="yes: the calls; the server is still asked for its list of tools",
    imported_sessions="yes: responses are made of the recorded messages",
    refused="agents with batched requests or durable execution; realtime sessions, embeddings and image generation "
    "have no seam, and are not the agent's own requests",
)


OPENAI_AGENTS: Final = Capabilities(
    adapter="openai_agents",
    seam="`replayable(agent)`: the agent's `Model`, its function tools' `on_invoke_tool`, all that it hands off to",
    models="yes: every `Model`, a `ModelProvider`'s too",
    streaming="yes: the recorded events, one by one",
    tools="yes: function tools; hosted ones are part of the model's answer",
    parallel="yes",
    sub_agents="yes: handoffs, and agents as tools, whose calls are answered one by one",
    mcp="yes: the calls; the server is still asked for its list of tools",
    imported_sessions="yes: responses are made of the recorded messages",
    refused="agents with computer, shell, patch or custom tools, or with a function that approves calls; "
    "realtime and voice agents have no seam. A model in a `RunConfig` goes past the agent's: wrap it too",
)


LANGCHAIN: Final = Capabilities(
    adapter="langchain",
    seam="`replayable(model)` and `replayable(tools)`: the methods that a `BaseChatModel` and a `BaseTool` implement",
    models="yes: every `BaseChatModel`, bound to tools or not",
    streaming="yes: the recorded chunks, one by one, callbacks told",
    tools="yes: every `BaseTool`, in a `ToolNode` or by themselves; `Command`, messages and interrupts in results",
    parallel="yes",
    sub_agents="yes: an agent as a tool (leave that tool, wrap what is inside); handoffs by `Command`",
    mcp="yes: the calls, of the tools that `langchain-mcp-adapters` gives; their list is asked for live",
    imported_sessions="yes: messages and chunks are made of the recorded messages",
    refused="models that are no `BaseChatModel` (completion models, `init_chat_model` without a model) or that make "
    "stream events of their own. A cache of LangChain's answers before the adapter is asked",
)


def markdown_table(adapters: Iterable[Capabilities]) -> str:
    """One row for each thing that can be intercepted, one column for each adapter.

    Example:
        >>> print(markdown_table([OPENAI]).splitlines()[0])
        | | `openai` |
    """
    columns = list(adapters)
    rows = [
        [field.name.replace("_", " "), *(getattr(column, field.name) for column in columns)]
        for field in fields(Capabilities)
        if field.name != "adapter"
    ]
    head = ["", *(f"`{column.adapter}`" for column in columns)]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("|  |", "| |")
