"""A recorded input or output as the text that a person would read."""

from __future__ import annotations

import json

_TEXTS = ("text", "content", "output", "answer", "result", "response", "message")


def answer_text(value: object) -> str:
    """What a final answer says: a text as it is, the last message's text, the one text of an object, else JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        messages = value.get("messages")
        if isinstance(messages, list) and messages:
            return message_text(messages[-1])
        if len(value) == 1:
            (only,) = value.values()
            if isinstance(only, str):
                return only
        if "role" in value and ("parts" in value or "content" in value):
            return message_text(value)
    if isinstance(value, list) and value and all(isinstance(each, dict) and "role" in each for each in value):
        return message_text(value[-1])
    return json_text(value)


def message_text(message: object) -> str:
    """The text of one message, in the GenAI schema's parts or in a chat message's content."""
    if not isinstance(message, dict):
        return message if isinstance(message, str) else json_text(message)
    body = message.get("parts", message.get("content"))
    if isinstance(body, list):
        return "\n".join(text for part in body if (text := _part_text(part)))
    return body if isinstance(body, str) else "" if body is None else json_text(body)


def json_text(value: object) -> str:
    """A value as readable JSON; what JSON cannot hold as Python would show it."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "(nested too deeply to be shown)"


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    for key in _TEXTS:
        if isinstance(part.get(key), str):
            return str(part[key])
    return json_text(part) if part.get("type") in ("tool_call", "tool_call_response") else ""
