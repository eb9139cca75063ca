"""An override in a request: what a fork changes on its way to the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rejudge.models.canonical import JsonValue
from rejudge.models.override import Override
from rejudge.replay.request import SYSTEM_ROLES, ModelRequest, text_of


def overridden(request: ModelRequest, override: Override) -> tuple[ModelRequest, tuple[str, ...]]:
    """The request with the override in it, and which parts of the override it took."""
    applied: list[str] = []
    model = override.model_for(request.model)
    if model is not None:
        applied.append(f"model:{request.model}" if isinstance(override.model, dict) else "model")
        request = replace(request, model=model)
    if override.system_prompt is not None:
        applied.append("system_prompt")
        request = _with_system_prompt(request, override.system_prompt)
    if override.prompt is not None:
        prompted = _with_prompt(request.messages, override.prompt)
        if prompted is not None:
            applied.append("prompt")
            request = replace(request, messages=prompted)
    if override.model_params is not None:
        applied.append("model_params")
        request = replace(request, parameters=merged_parameters(request.parameters, override.model_params))
    return request, tuple(applied)


def merged_parameters(parameters: Mapping[str, JsonValue], changes: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The parameters with the changes merged key by key; null takes a parameter out."""
    merged = {**parameters, **changes}
    return {name: value for name, value in merged.items() if not (value is None and name in changes)}


def _with_system_prompt(request: ModelRequest, text: str) -> ModelRequest:
    part = {"type": "text", "content": text}
    at = [place for place, message in enumerate(request.messages) if message.get("role") in SYSTEM_ROLES]
    if not at:
        return replace(request, system_instructions=(part,))
    # Stays a message where the agent sent one: it is what the framework knows how to send.
    changed = {**request.messages[at[0]], "parts": [part]}
    rest = [changed if place == at[0] else message for place, message in enumerate(request.messages)]
    kept = tuple(message for place, message in enumerate(rest) if place not in at[1:])
    return replace(request, messages=kept, system_instructions=())


def _with_prompt(messages: tuple[dict[str, Any], ...], text: str) -> tuple[dict[str, Any], ...] | None:
    for place, message in enumerate(messages):
        parts = list(message.get("parts") or ())
        texts = [at for at, part in enumerate(parts) if text_of(part) is not None]
        if message.get("role") == "user" and texts:
            kept = [part for at, part in enumerate(parts) if at not in texts]
            changed = {**message, "parts": [{"type": "text", "content": text}, *kept]}
            return (*messages[:place], changed, *messages[place + 1 :])
    return None
