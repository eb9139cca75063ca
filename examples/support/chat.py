"""A model call over HTTP: the chat completions protocol, and nothing but httpx.

`complete` is what an agent calls. `rejudge.replay.calls.call_model` puts it on record, and in a replay hands over
the recorded answer, or the request with the change that a fork makes in it.
"""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any

import httpx
from opentelemetry import trace

from rejudge.replay.calls import call_model
from rejudge.replay.request import ModelRequest, ModelResponse

DEFAULT_URL = "http://127.0.0.1:8790/v1"


def complete(request: ModelRequest) -> ModelResponse:
    """The model's answer to a request.

    Raises:
        httpx.HTTPError: Where the server cannot be reached or refuses.
    """
    return call_model(request, _send)


def _send(request: ModelRequest) -> ModelResponse:
    reply = _client().post("chat/completions", json=_body(request)).raise_for_status().json()
    choice, usage = reply["choices"][0], reply.get("usage") or {}
    if "cost" in usage:
        # Some gateways say what a call cost: the span of the call is the place for it.
        trace.get_current_span().set_attribute("gen_ai.usage.cost", usage["cost"])
    return ModelResponse(
        messages=({**_message(choice["message"]), "finish_reason": choice["finish_reason"]},),
        model=reply["model"],
        response_id=reply["id"],
        finish_reason=choice["finish_reason"],
        input_tokens=usage.get("prompt_tokens"),
        output_tokens=usage.get("completion_tokens"),
    )


@cache
def _client() -> httpx.Client:
    return httpx.Client(
        base_url=os.environ.get("OPENAI_BASE_URL", DEFAULT_URL),
        headers={"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none-needed')}"},
        timeout=60,
        trust_env=False,
    )


def _body(request: ModelRequest) -> dict[str, Any]:
    """The request as the protocol has it."""
    system = [{"role": "system", "content": request.system_text}] if request.system_text else []
    tools = [
        {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}
        for tool in request.tools or ()
    ]
    turns = [turn for message in request.messages for turn in _turns(message)]
    return {"model": request.model, "messages": system + turns, "tools": tools, **request.parameters}


def _turns(message: dict[str, Any]) -> list[dict[str, Any]]:
    """One message of the GenAI schema: a tool's message becomes one turn per result."""
    results = [part for part in message["parts"] if part["type"] == "tool_call_response"]
    if results:
        return [
            {"role": "tool", "tool_call_id": part["id"], "content": json.dumps(part["response"])} for part in results
        ]
    text = "".join(part["content"] for part in message["parts"] if part["type"] == "text")
    calls = [
        {
            "id": part["id"],
            "type": "function",
            "function": {"name": part["name"], "arguments": json.dumps(part["arguments"])},
        }
        for part in message["parts"]
        if part["type"] == "tool_call"
    ]
    return [{"role": message["role"], "content": text or None, **({"tool_calls": calls} if calls else {})}]


def _message(message: dict[str, Any]) -> dict[str, Any]:
    """A message of the protocol in the GenAI schema."""
    parts: list[dict[str, Any]] = []
    if message.get("content"):
        parts.append({"type": "text", "content": message["content"]})
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = json.loads(function["arguments"])
        parts.append({"type": "tool_call", "id": call["id"], "name": function["name"], "arguments": arguments})
    return {"role": message["role"], "parts": parts}
