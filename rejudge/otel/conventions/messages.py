"""Messages of any vendor's shape to the GenAI schema: ``{"role", "parts": [{"type", …}], "finish_reason"?}``."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from rejudge.otel.conventions.parts import Part, part_of, parts_of, plain_content, text_part, tool_call_part
from rejudge.otel.text import undo_json, undo_json_fully

Message: TypeAlias = dict[str, Any]

_ROLES: Final[dict[str, str]] = {
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "systemmessage": "system",
    "toolmessage": "tool",
    "functionmessage": "tool",
    "function": "tool",
    "tool-response": "tool",
    "tool-call": "assistant",
    "tool_response": "tool",
    "tool_call": "assistant",
    "chatbot": "assistant",
}
_FOLDED: Final = frozenset(
    {"role", "type", "parts", "content", "name", "finish_reason", "finishReason", "tool_calls"}
)
_ITEM_TYPES: Final[dict[str, str]] = {
    "function_call": "assistant",
    "custom_tool_call": "assistant",
    "reasoning": "assistant",
    "function_call_output": "tool",
    "custom_tool_call_output": "tool",
}
"""Items of the Responses API that are messages of their own."""


def messages_of(value: Any, role: str = "user") -> list[Message]:
    """Every message in a recorded value.

    Args:
        value: A list of messages, one message, a text, JSON text of those, or a request that holds ``messages``.
        role: Whose words they are where the value does not say.
    """
    value = undo_json(value)
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], list):
            return messages_of(value[0], role)
        if len(value) == 2 and isinstance(value[0], str) and value[0].lower() in _KNOWN_ROLES:
            return [message_of(value, role)]
        return [message_of(item, role) for item in value if item is not None and item != ""]
    if isinstance(value, dict):
        for name in ("messages", "input", "contents", "inputs"):
            inner = value.get(name)
            if isinstance(inner, list) and inner and "role" not in value:
                return messages_of(inner, role)
        return [message_of(value, role)] if value else []
    if value is None or value == "":
        return []
    return [{"role": role, "parts": parts_of(value)}]


def message_of(item: Any, role: str = "user") -> Message:
    """One message in the GenAI schema."""
    if not isinstance(item, dict):
        return _short_message(item, role)
    parts = item.get("parts")
    if type(parts) is list and "content" not in item:
        if item.get("role") in _SETTLED_ROLES and _is_settled(item, parts):
            return item
        said = item.get("role")
        message: Message = {
            "role": _ROLES.get(said, said) if isinstance(said, str) else role,
            "parts": [part for part in map(part_of, parts) if part is not None],
        }
        reason = item.get("finish_reason")
        if reason:
            message["finish_reason"] = reason
        if item.get("name"):
            message["name"] = item["name"]
        return message
    return _message_of_content(_unwrapped(item), role)


_SETTLED_ROLES: Final = frozenset({"user", "assistant", "tool", "system"})


def _is_settled(item: dict[str, Any], parts: list[Any]) -> bool:
    """True for a message that is in the schema already: most are, and each is repeated by every later call."""
    for part in parts:
        if type(part) is not dict:
            return False
        kind = part.get("type")
        if kind == "text":
            if type(part.get("content")) is not str:
                return False
        elif kind == "tool_call":
            if type(part.get("arguments", "")) is str or "id" not in part:
                return False
        elif kind == "tool_call_response":
            response = part.get("response", "{")
            if type(response) is str and response[:1] in ("{", "[", '"'):
                return False
        else:
            return False
    return item.get("name", "") is not None and item.get("finish_reason", "") is not None


def output_messages_of(value: Any) -> list[Message]:
    """The messages of an answer: messages, or a whole response of OpenAI, Anthropic, Gemini or LangChain."""
    value = undo_json(value)
    if isinstance(value, dict):
        for name, read in _RESPONSES:
            inner = value.get(name)
            if isinstance(inner, list) and inner:
                return read(inner, value)
    return messages_of(value, "assistant")


def first_user_text(messages: list[Message]) -> Any:
    """What the user said first; None where nobody did."""
    for message in messages:
        if message["role"] == "user":
            said = said_in(message)
            if said is not None:
                return said
    return None


def last_user_text(messages: list[Message]) -> Any:
    """What the user said last; None where nobody did."""
    return first_user_text(messages[::-1])


def last_assistant_text(messages: list[Message]) -> Any:
    """The last words of the model; None where it said none."""
    for message in reversed(messages):
        if message["role"] == "assistant":
            said = said_in(message)
            if said is not None:
                return said
    return None


def said_in(message: Message) -> Any:
    """The text of a message; its parts where it holds something else than text and tool calls; None for nothing."""
    parts = [part for part in message["parts"] if part.get("type") not in _SILENT]
    if not parts:
        return None
    if all(part.get("type") == "text" for part in parts):
        text = "\n".join(part["content"] for part in parts if part.get("content"))
        return text or None
    return parts


_SILENT: Final = frozenset({"tool_call", "tool_call_response", "reasoning"})


def _short_message(item: Any, role: str) -> Message:
    if isinstance(item, list) and len(item) == 2 and isinstance(item[0], str):
        return {"role": _ROLES.get(item[0].lower(), item[0]), "parts": parts_of(item[1])}
    if isinstance(item, list):
        return {"role": role, "parts": parts_of(item)}
    return {"role": role, "parts": parts_of(item)}


def _unwrapped(item: dict[str, Any]) -> dict[str, Any]:
    """A message without what a framework put around it."""
    if "lc" in item and isinstance(item.get("kwargs"), dict):
        kind = item.get("id")
        name = kind[-1] if isinstance(kind, list) and kind else ""
        return {"type": str(name).lower(), **item["kwargs"]}
    inner = item.get("data")
    if isinstance(inner, dict) and isinstance(item.get("type"), str) and "content" in inner:
        return {**inner, "type": item["type"]}
    inner = item.get("message")
    if isinstance(inner, dict):
        reason = item.get("finish_reason")
        unwrapped = _unwrapped(inner)
        return {**unwrapped, "finish_reason": reason} if reason else unwrapped
    if isinstance(inner, str) and "content" not in item and "role" not in item:
        return {**item, "content": undo_json(inner)}
    return item


def _message_of_content(item: dict[str, Any], role: str) -> Message:
    kind = item.get("type")
    said = item.get("role")
    if not isinstance(said, str) or not said:
        said = kind if isinstance(kind, str) and kind.lower() in _KNOWN_ROLES else None
    role = (role_of(said) if said else None) or (_ITEM_TYPES.get(kind) if isinstance(kind, str) else None) or role
    if (isinstance(kind, str) and kind in _ITEM_TYPES and "content" not in item) or _is_bare_part(item):
        part = part_of(item)
        return {"role": role, "parts": [] if part is None else [part]}
    parts = _content_parts(item, role)
    calls = item.get("tool_calls") or item.get("toolCalls")
    if isinstance(calls, list):
        known = {part.get("id") for part in parts if part.get("type") == "tool_call"}
        for call in map(tool_call_part, calls):
            if call is not None and (call["id"] is None or call["id"] not in known):
                parts.append(call)
    message: Message = {"role": role, "parts": parts}
    reason = item.get("finish_reason") or item.get("finishReason") or item.get("stop_reason")
    if isinstance(reason, str):
        message["finish_reason"] = reason
    if isinstance(item.get("name"), str) and role != "tool":
        message["name"] = item["name"]
    return message


def _content_parts(item: dict[str, Any], role: str) -> list[Part]:
    content = item.get("content", item.get("parts", item.get("text")))
    if isinstance(content, str) and content[:2] in ("[{", "[\n", '["'):
        undone = undo_json(content)
        content = undone if isinstance(undone, list) and _looks_like_parts(undone) else content
    if role == "tool":
        identity = item.get("tool_call_id") or item.get("id") or item.get("toolCallId") or item.get("call_id")
        inner = parts_of(content) if isinstance(content, list) else []
        if inner and all(part.get("type") == "tool_call_response" for part in inner):
            return inner
        part: Part = {
            "type": "tool_call_response",
            "id": identity,
            "response": undo_json_fully(plain_content(content)),
        }
        if isinstance(item.get("name"), str):
            part["name"] = item["name"]
        return [part]
    parts = parts_of(content)
    thought = item.get("reasoning_content") or item.get("reasoning")
    if isinstance(thought, str):
        parts.insert(0, {"type": "reasoning", "content": thought})
    legacy = item.get("function_call")
    if isinstance(legacy, dict) and legacy.get("name"):
        call = tool_call_part(legacy)
        parts += [call] if call else []
    return parts


def _looks_like_parts(value: list[Any]) -> bool:
    return all(isinstance(item, dict) and (item.keys() & _PART_KEYS or "type" in item) for item in value)


_PART_KEYS: Final = frozenset({"text", "toolUse", "toolResult", "json", "functionCall", "reasoningContent"})


def _is_bare_part(item: dict[str, Any]) -> bool:
    """True for a part that stands where a message belongs (Strands' and Gemini's lists)."""
    return "role" not in item and "content" not in item and bool(item.keys() & _PART_KEYS)


def role_of(said: str) -> str:
    """The role of the GenAI schema behind a producer's own; one that is unknown stays as it is."""
    lowered = said.lower()
    return _ROLES.get(lowered, lowered if lowered in _KNOWN_ROLES else said)


_KNOWN_ROLES: Final = frozenset({*_ROLES, "system", "user", "assistant", "tool", "developer"})


def _choices(choices: list[Any], _: dict[str, Any]) -> list[Message]:
    return [message_of(choice, "assistant") for choice in choices if choice is not None]


def _generations(generations: list[Any], _: dict[str, Any]) -> list[Message]:
    flat = generations[0] if isinstance(generations[0], list) else generations
    found = []
    for generation in flat:
        if not isinstance(generation, dict):
            continue
        inner = generation.get("message")
        message = message_of(inner, "assistant") if isinstance(inner, dict) else None
        if message is None:
            message = {"role": "assistant", "parts": parts_of(generation.get("text"))}
        info = generation.get("generation_info")
        if isinstance(info, dict) and isinstance(info.get("finish_reason"), str):
            message["finish_reason"] = info["finish_reason"]
        found.append(message)
    return found


def _content(content: list[Any], response: dict[str, Any]) -> list[Message]:
    return [_message_of_content({**response, "type": None}, "assistant")]


def _items(items: list[Any], _: dict[str, Any]) -> list[Message]:
    """The output items of a Responses API answer, as one message."""
    parts: list[Part] = []
    for item in items:
        if isinstance(item, dict):
            parts += message_of(item, "assistant")["parts"]
        elif isinstance(item, str):
            parts.append(text_part(item))
    return [{"role": "assistant", "parts": parts}]


_RESPONSES: Final = (
    ("choices", _choices),
    ("generations", _generations),
    ("candidates", lambda items, _: [message_of(item.get("content", item), "assistant") for item in items]),
    ("replies", _choices),
    ("output", _items),
    ("content", _content),
)
