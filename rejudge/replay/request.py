"""A request to a model as a value, and the form under which two requests are the same one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from rejudge.models.canonical import JsonValue, canonical_bytes

PARAMETERS: Final = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "frequency_penalty",
    "presence_penalty",
    "stop_sequences",
    "seed",
    "choice_count",
)
"""The parameters that the GenAI conventions record, by the name that a node's ``parameters`` has."""

SYSTEM_ROLES: Final = frozenset({"system", "developer"})
"""Roles of messages that instruct rather than converse."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a model is asked, in the GenAI message schema (``{"role", "parts": [{"type": "text", …}]}``)."""

    model: str
    messages: tuple[dict[str, Any], ...]
    system_instructions: tuple[dict[str, Any], ...] = ()
    """Text parts; a system-role message in ``messages`` says the same."""
    tools: tuple[dict[str, Any], ...] | None = None
    """Definitions of the tools offered; None = not known."""
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    """``temperature``, ``max_tokens`` and the like (see `PARAMETERS`); others may be there too."""
    provider: str | None = None

    @property
    def system_text(self) -> str:
        """Every system text, one below the other."""
        parts = [*self.system_instructions]
        for message in self.messages:
            if message.get("role") in SYSTEM_ROLES:
                parts.extend(message.get("parts") or ())
        return "\n".join(text for part in parts if (text := text_of(part)))


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """What a model answered."""

    messages: tuple[dict[str, Any], ...]
    """Output messages in the GenAI message schema, ``finish_reason`` included."""
    model: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    """Including cached tokens."""
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: JsonValue = None
    """The wire form, for an adapter that has to give back exactly what came; recorded beside the messages."""

    @property
    def text(self) -> str:
        """The text of the answer."""
        parts = [part for message in self.messages for part in message.get("parts") or ()]
        return "".join(text for part in parts if part.get("type", "text") == "text" and (text := text_of(part)))

    @property
    def tool_calls(self) -> tuple[dict[str, Any], ...]:
        """The tool calls it asks for: ``{"id", "name", "arguments"}`` each, arguments decoded."""
        parts = [part for message in self.messages for part in message.get("parts") or ()]
        return tuple(
            {"id": part.get("id"), "name": part.get("name"), "arguments": _decoded(part.get("arguments") or {})}
            for part in parts
            if part.get("type") == "tool_call"
        )


def request_key(request: ModelRequest) -> str:
    """Hex SHA-256 over the model, a zero byte, and the canonical system text and messages.

    Ids of tool calls are replaced by their place, reasoning is left out (it is not the agent's to send), and
    tool results stand in the order of their calls: none of these is a different request.
    """
    body = {"system": request.system_text, "messages": canonical_messages(request.messages)}
    return hashlib.sha256(request.model.encode() + b"\0" + canonical_bytes(body)).hexdigest()


def same_settings(recorded: ModelRequest, asked: ModelRequest) -> bool:
    """Whether parameters and tools agree, as far as both are known."""
    left, right = known_parameters(recorded), known_parameters(asked)
    if left and _said(left) != _said(right):
        return False
    if not recorded.tools or asked.tools is None:
        return True
    return tool_names(recorded) == tool_names(asked)


_DEFAULTS: Final = {
    "temperature": 1,
    "top_p": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "choice_count": 1,
}
"""What APIs take where nothing is said; instrumentations that record the answer's settings say it."""


def _said(parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in parameters.items() if _DEFAULTS.get(name) != value}


def known_parameters(request: ModelRequest) -> dict[str, JsonValue]:
    """The parameters that a trace records, those that are set."""
    return {name: value for name in PARAMETERS if (value := request.parameters.get(name)) is not None}


def tool_names(request: ModelRequest) -> list[str]:
    """The names of the tools that it offers, sorted."""
    # Schemas are rewritten by instrumentations; the names are what they agree on.
    names = [(tool.get("name") or (tool.get("function") or {}).get("name") or "") for tool in request.tools or ()]
    return sorted(str(name) for name in names)


def canonical_messages(messages: tuple[dict[str, Any], ...]) -> list[list[Any]]:
    """The messages less system texts, in the form in which two requests are compared."""
    places: dict[str, int] = {}
    canonical: list[list[Any]] = []
    for message in messages:
        role = message.get("role", "user")
        if role in SYSTEM_ROLES:
            continue
        parts = [part for raw in message.get("parts") or () if (part := _canonical_part(raw, places)) is not None]
        answers = [part for part in parts if part[0] == "tool_call_response"]
        rest = [part for part in parts if part[0] != "tool_call_response"]
        _append(canonical, "tool", answers)
        _append(canonical, "user" if role == "tool" else role, rest)
    return [[role, sorted(parts, key=canonical_bytes) if role == "tool" else parts] for role, parts in canonical]


def _append(canonical: list[list[Any]], role: str, parts: list[list[Any]]) -> None:
    if not parts:
        return
    if canonical and canonical[-1][0] == role:
        canonical[-1][1].extend(parts)
    else:
        canonical.append([role, list(parts)])


def _canonical_part(part: Any, places: dict[str, int]) -> list[Any] | None:
    if not isinstance(part, dict):
        return ["text", str(part)] if part else None
    kind = part.get("type", "text")
    if kind in {"reasoning", "thinking"}:
        return None
    if kind == "text":
        text = text_of(part)
        return ["text", text] if text else None
    if kind == "tool_call":
        place = places.setdefault(str(part.get("id") or len(places)), len(places))
        return ["tool_call", place, part.get("name"), _decoded(part.get("arguments") or {})]
    if kind == "tool_call_response":
        response = part.get("response", part.get("result"))
        place = places.setdefault(str(part.get("id") or len(places)), len(places))
        return ["tool_call_response", place, _response_text(response)]
    return [kind, {name: value for name, value in part.items() if name not in {"type", "id"}}]


def _response_text(response: Any) -> Any:
    """A tool's answer as it counts: JSON text is its JSON, and a list of text parts is its text."""
    if isinstance(response, list) and response and all(isinstance(item, dict) for item in response):
        texts = [text_of(item) for item in response]
        if all(text is not None for text in texts):
            return _decoded("".join(text or "" for text in texts))
    return _decoded(response)


def _decoded(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def text_of(part: Any) -> str | None:
    """The text of a text part; None for any other."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict) or part.get("type", "text") != "text":
        return None
    content = part.get("content", part.get("text"))
    return content if isinstance(content, str) else None
