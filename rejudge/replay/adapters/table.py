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
    mcp="yes: calls, and the list of tools; the server is connected to only for a call that goes live, or where its "
    "instructions are part of the prompt",
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
    mcp="yes: calls, and the list of tools; `async with replayable(server)` connects to nothing in a replay",
    imported_sessions="yes: responses are made of the recorded messages",
    refused="agents with computer, shell, patch or custom tools, or with a function that approves calls; "
    "realtime and voice agents have no seam. A model in a `RunConfig` goes past the agent's: wrap it too",
)


LANGCHAIN: Final = Capabilities(
    adapter="langchain",
    seam="`replayable(model)` and `replayable(tools)`: the methods that a `BaseChatModel` and a `BaseTool` "
    "implement; `replayable(client)`: a `MultiServerMCPClient`'s `get_tools`",
    models="yes: every `BaseChatModel`, bound to tools or not",
    streaming="yes: the recorded chunks, one by one, callbacks told",
    tools="yes: every `BaseTool`, in a `ToolNode` or by themselves; `Command`, messages and interrupts in results",
    parallel="yes",
    sub_agents="yes: an agent as a tool (leave that tool, wrap what is inside); handoffs by `Command`",
    mcp="yes: calls, and the list of tools of `replayable(MultiServerMCPClient(…))`, bound to a replayable model; a "
    "server is connected to only for a call that goes live. Sessions opened by hand, prompts and resources are live",
    imported_sessions="yes: messages and chunks are made of the recorded messages",
    refused="models that are no `BaseChatModel` (completion models, `init_chat_model` without a model) or that make "
    "stream events of their own. A cache of LangChain's answers before the adapter is asked",
)


_SHORT: Final = ("models", "streaming", "tools", "parallel", "sub_agents", "mcp", "imported_sessions")


def overview(adapters: Iterable[Capabilities]) -> str:
    """A Markdown table: one row an adapter, ``yes`` or ``no`` to each kind of call.

    Example:
        >>> print(overview([OPENAI]).splitlines()[-1])
        | `openai` | yes | yes | no | yes | yes | no | yes |
    """
    head = ["", *(_words(name) for name in _SHORT)]
    rows = [[f"`{one.adapter}`", *(getattr(one, name).partition(":")[0] for name in _SHORT)] for one in adapters]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def details(adapter: Capabilities) -> str:
    """A Markdown list: what an adapter intercepts, and how.

    Example:
        >>> print(details(OPENAI).splitlines()[0])
        - **seam**: the HTTP transport of `OpenAI` and `AsyncOpenAI`, Azure's too
    """
    names = [field.name for field in fields(Capabilities) if field.name != "adapter"]
    return "\n".join(f"- **{_words(name)}**: {getattr(adapter, name)}" for name in names)


def _words(name: str) -> str:
    return {"mcp": "MCP", "sub_agents": "sub-agents"}.get(name, name.replace("_", " "))
