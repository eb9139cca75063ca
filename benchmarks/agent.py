"""An agent whose session has 20 nodes: its own span, ten model calls and nine tool calls."""

from __future__ import annotations

from typing import Any

import rejudge
from rejudge.replay import ModelRequest, model_call

ROUNDS = 9


class CalledLive(Exception):
    """Something was called that the tape should have answered."""


class World:
    """Whether models and tools may be called."""

    closed = False


@rejudge.tool
def look_up(order_id: str, page: int) -> dict[str, Any]:
    """Find a page of an order."""
    if World.closed:
        raise CalledLive("look_up")
    return {"order_id": order_id, "page": page, "lines": [f"line {number} of page {page}" for number in range(8)]}


def run(inputs: dict[str, Any]) -> dict[str, Any]:
    """Read nine pages of an order, then say how many there were."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"Read order {inputs['order']}, all of it."}]
    for page in range(ROUNDS):
        messages.append({"role": "assistant", "content": _ask(messages)})
        found = look_up(inputs["order"], page)
        messages.append({"role": "user", "content": " / ".join(found["lines"])})
    return {"answer": _ask(messages)}


def _ask(messages: list[dict[str, Any]]) -> str:
    return model_call("bench-model", messages, _answer, system="You read orders.", provider="openai").text


def _answer(request: ModelRequest) -> dict[str, Any]:
    if World.closed:
        raise CalledLive("the model")
    said = f"I have read {len(request.messages) // 2} pages."
    return {
        "id": f"answer-{len(request.messages)}",
        "model": "bench-model",
        "choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 40 * len(request.messages), "completion_tokens": 8},
    }
