"""A small support agent: a loop of model calls and tools, written by hand.

    rejudge agent register support --entrypoint examples/support/agent.py:run

`run` is all that a replay needs. The tools are plain functions under `@rejudge.tool` (see `shop.py`), the model is
asked over HTTP (see `chat.py`); nothing here knows whether it is recorded, replayed or neither.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from chat import complete
from shop import DEFINITIONS, TOOLS

from rejudge.replay import tool_call_id

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
    model, system = os.environ.get("SUPPORT_MODEL", MODEL), PROMPT.read_text("utf-8")
    messages: list[dict[str, Any]] = [{"role": "user", "content": inputs["message"]}]
    for _ in range(MOST_ROUNDS):
        answer = complete(model, messages, system=system, tools=DEFINITIONS)
        if not answer.tool_calls:
            return {"answer": answer.text}
        messages.append({"role": "assistant", "content": answer.text, "tool_calls": _asked(answer.tool_calls)})
        messages.extend(_result(call) for call in answer.tool_calls)
    return {"answer": "I am passing this on to a colleague."}


def _asked(calls: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    return [
        {
            "id": call["id"],
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for call in calls
    ]


def _result(call: dict[str, Any]) -> dict[str, Any]:
    """What a tool returned, or why it failed: the model decides what to make of either."""
    try:
        with tool_call_id(call["id"]):
            result = TOOLS[call["name"]](**call["arguments"])
    except Exception as error:
        result = {"error": str(error)}
    return {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)}
