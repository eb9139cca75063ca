"""A model call over HTTP: the chat completions protocol, and nothing but httpx.

`model_call` puts it on record; in a replay it gives the recorded answer instead, or hands over the request with the
change that a fork makes in it. Outside of both it only calls `_send`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import httpx
from opentelemetry import trace

from rejudge.replay import ModelRequest, ModelResponse, chat_messages, model_call

DEFAULT_URL = "http://127.0.0.1:8790/v1"


def complete(
    model: str, messages: Sequence[Mapping[str, Any]], *, system: str, tools: Sequence[Mapping[str, Any]]
) -> ModelResponse:
    """The model's answer to a conversation in OpenAI's schema.

    Raises:
        httpx.HTTPError: Where the server cannot be reached or refuses.
    """
    return model_call(
        model, messages, _send, system=system, tools=tools, parameters={"temperature": 0.0}, provider="openai"
    )


def _send(request: ModelRequest) -> dict[str, Any]:
    body = {
        "model": request.model,
        "messages": chat_messages(request),
        "tools": list(request.tools or ()),
        **request.parameters,
    }
    reply: dict[str, Any] = _client().post("chat/completions", json=body).raise_for_status().json()
    if "cost" in (reply.get("usage") or {}):
        # Some gateways say what a call cost: the span of the call is the place for it.
        trace.get_current_span().set_attribute("gen_ai.usage.cost", reply["usage"]["cost"])
    return reply


@cache
def _client() -> httpx.Client:
    return httpx.Client(
        base_url=os.environ.get("OPENAI_BASE_URL", DEFAULT_URL),
        headers={"Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none-needed')}"},
        timeout=60,
        trust_env=False,
    )
