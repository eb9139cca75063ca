"""A LangChain agent whose tools are those of MCP servers: of two, one of which it asks for nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI

import rejudge

SCRIPT = Path(__file__).with_name("mcp_weather.py")


def client_of(*names: str, **options: Any) -> MultiServerMCPClient:
    """A client of servers that are all the same, but for their names."""
    server: Any = {"transport": "stdio", "command": sys.executable, "args": [str(SCRIPT)], "env": dict(os.environ)}
    return MultiServerMCPClient(dict.fromkeys(names, server), **options)


async def run(inputs: dict[str, Any]) -> dict[str, Any]:
    """What the agent says, and what it knows of its tools."""
    replayable = rejudge.adapters.langchain.replayable
    client = replayable(client_of("weather", "spare", tool_name_prefix=True))
    tools = await client.get_tools(server_name=inputs.get("server"))
    offered = [tool for tool in tools if tool.name.startswith("weather")]
    model: Any = ChatOpenAI(model="desk", base_url=os.environ["DESK_URL"], api_key="test", max_retries=0)  # type: ignore[arg-type]
    agent = create_agent(replayable(model), tools=offered)
    result = await agent.ainvoke({"messages": [{"role": "user", "content": inputs["city"]}]})
    [tool] = offered
    said = result["messages"]
    return {
        "text": said[-1].content,
        "tool": [tool.name, tool.description, list(tool.args), (tool.metadata or {}).get("readOnlyHint")],
        "shown": [[part["text"] for part in said[2].content], said[2].status],
    }
