"""A small support agent: a loop of model calls and tools, written by hand.

    rejudge agent register support --entrypoint examples/support/agent.py:run

`run` is all that a replay needs. The tools are plain functions under `@rejudge.tool` (see `shop.py`), the model is
asked over HTTP (see `chat.py`); nothing here knows whether it is recorded, replayed or neither.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from chat import complete
from shop import DEFINITIONS, TOOLS

from rejudge.replay.calls import tool_call_id
from rejudge.replay.request import ModelRequest

MODEL = "desk-large"
PROMPT = Path(__file__).parent / "prompts" / "support.md"
MOST_ROUNDS = 8


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    """Answer one customer.

    Args:
        inputs: ``{"message": "…"}``.

    Returns:
        ``{"answer": "…"}``.
    """
    messages = [{"role": "user", "parts": [_text(inputs["message"])]}]
    for _ in range(MOST_ROUNDS):
        answer = complete(_request(messages)).messages[0]
        messages.append({"role": answer["role"], "parts": answer["parts"]})
        calls = [part for part in answer["parts"] if part["type"] == "tool_call"]
        if not calls:
            return {"answer": "".join(part["content"] for part in answer["parts"])}
        messages.append({"role": "tool", "parts": [_result(call) for call in calls]})
    return {"answer": "I am passing this on to a colleague."}


def _request(messages: list[dict[str, Any]]) -> ModelRequest:
    return ModelRequest(
        model=os.environ.get("SUPPORT_MODEL", MODEL),
        messages=tuple(messages),
        system_instructions=(_text(PROMPT.read_text("utf-8")),),
        tools=DEFINITIONS,
        parameters={"temperature": 0.0},
        provider="openai",
    )


def _result(call: dict[str, Any]) -> dict[str, Any]:
    """What a tool returned, or why it failed: the model decides what to make of either."""
    try:
        with tool_call_id(call["id"]):
            response = TOOLS[call["name"]](**call["arguments"])
    except Exception as error:
        response = {"error": str(error)}
    return {"type": "tool_call_response", "id": call["id"], "response": response}


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}
