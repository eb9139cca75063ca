"""Attributes flattened to dotted names: lists by number, messages by number."""

from __future__ import annotations

from typing import Any

from rejudge.otel.conventions.messages import Message, role_of
from rejudge.otel.conventions.parts import Part, parts_of, tool_call_part
from rejudge.otel.text import undo_json_fully


def indexed(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The objects under ``prefix`` + number + ``.``, in numeric order, each still flat below."""
    found: dict[int, dict[str, Any]] = {}
    start = len(prefix)
    for key, value in attributes.items():
        if key.startswith(prefix):
            number, dot, rest = key[start:].partition(".")
            if dot and number.isdecimal() and len(number) < 10:
                index = int(number)
                if index in found:
                    found[index][rest] = value
                else:
                    found[index] = {rest: value}
    return [found[index] for index in sorted(found)] if len(found) > 1 else list(found.values())


def numbered_messages(attributes: dict[str, Any], prefix: str, *, role: str = "user") -> list[Message]:
    """Messages written as ``gen_ai.prompt.N.role``, ``….content``, ``….tool_calls.M.name``."""
    return [_message(flat, role) for flat in indexed(attributes, prefix)]


def _message(flat: dict[str, Any], role: str) -> Message:
    said = flat.get("role")
    said = role_of(said) if isinstance(said, str) and said else role
    content = flat.get("content")
    if said == "tool":
        part = {
            "type": "tool_call_response",
            "id": flat.get("tool_call_id"),
            "response": undo_json_fully(content),
        }
        return {"role": said, "parts": [part]}
    parts: list[Part] = content_parts(content)
    if "tool_calls.0.name" in flat or "tool_calls.0.id" in flat:
        calls = map(tool_call_part, indexed(flat, "tool_calls."))
        parts += [call for call in calls if call is not None]
    message: Message = {"role": said, "parts": parts}
    reason = flat.get("finish_reason")
    if isinstance(reason, str):
        message["finish_reason"] = reason
    return message


def content_parts(content: Any) -> list[Part]:
    """The parts of a content that may be text, or JSON text of a list of parts."""
    if isinstance(content, str) and content.startswith("[{"):
        undone = undo_json_fully(content)
        if isinstance(undone, list) and all(isinstance(item, dict) and "type" in item for item in undone):
            return parts_of(undone)
    return parts_of(content)
