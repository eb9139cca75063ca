"""An MCP server on standard input and output, which writes down that it ran."""

from __future__ import annotations

import os
from pathlib import Path

from mcp.types import ToolAnnotations

try:
    from mcp.server import MCPServer
except ImportError:  # as it was called in the first version
    from mcp.server.fastmcp import FastMCP as MCPServer

server = MCPServer("weather")


def touch(what: str) -> None:
    with Path(os.environ["DESK_LOG"]).open("a") as file:
        file.write(what + "\n")


@server.tool(annotations=ToolAnnotations.model_validate({"readOnlyHint": True}))
def get_weather(city: str) -> str:
    """The weather in a city."""
    touch(f"get_weather {city}")
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"18 °C in {city}"


if __name__ == "__main__":
    touch("started")
    server.run()
