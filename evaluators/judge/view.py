"""What a judge is shown of a session: named texts, without secrets, each cut to its share of the room."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rejudge.evaluators.answer_text import answer_text, json_text, message_text
from rejudge.evaluators.judge.fencing import without_secrets
from rejudge.evaluators.judge.questions import FieldName
from rejudge.evaluators.reading import model_calls
from rejudge.models import Node, SessionView

View: TypeAlias = Literal["outcome", "full"]

FIELDS: Final[Mapping[View, tuple[FieldName, ...]]] = {
    "outcome": ("request", "tool_calls", "answer"),
    "full": ("request", "system_prompt", "messages", "tool_calls", "answer"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """The fields that are sent."""

    fields: Mapping[FieldName, str]
    """Text by name; what the session did not record is not in it."""
    cut: tuple[FieldName, ...]
    """Fields of which the middle was left out for want of room."""


def sent_fields(view: View, include: Collection[FieldName] | None) -> tuple[FieldName, ...]:
    """The names of the fields that a view sends, narrowed to some of them."""
    return tuple(name for name in FIELDS[view] if include is None or name in include)


def shown(session: SessionView, names: Collection[FieldName], *, room: int) -> Shown:
    """The texts of some fields, together at most so many characters."""
    texts: dict[FieldName, str] = {}
    for name in names:
        text = _READERS[name](session)
        if text.strip():
            texts[name] = text
    limits = _shares({name: len(text) for name, text in texts.items()}, room)
    cut = tuple(name for name, text in texts.items() if len(text) > limits[name])
    return Shown({name: _cut(text, limits[name]) for name, text in texts.items()}, cut)


def _request(session: SessionView) -> str:
    text = answer_text(without_secrets(session.session.inputs))
    if text.strip():
        return text
    for node in model_calls(session):
        for message in _messages(node.inputs):
            if message.get("role") == "user":
                return message_text(without_secrets(message))
    return ""


def _answer(session: SessionView) -> str:
    return answer_text(without_secrets(session.session.outputs))


def _system_prompt(session: SessionView) -> str:
    for node in model_calls(session):
        given = node.inputs.get("system_instructions") if isinstance(node.inputs, dict) else None
        if given:
            return (
                message_text({"parts": without_secrets(given)})
                if isinstance(given, list)
                else str(without_secrets(given))
            )
        for message in _messages(node.inputs):
            if message.get("role") in ("system", "developer"):
                return message_text(without_secrets(message))
    return ""


def _model_messages(session: SessionView) -> str:
    """Every message once: of each call what was not sent before, then what the model answered."""
    seen: set[str] = set()
    lines: list[str] = []
    for node in model_calls(session):
        for message in (*_messages(node.inputs), *_messages(node.outputs)):
            if message.get("role") in ("system", "developer"):
                continue
            text = f"{message.get('role', 'unknown')}: {message_text(without_secrets(message))}"
            if text not in seen:
                seen.add(text)
                lines.append(text)
    return "\n".join(lines)


def _tool_calls(session: SessionView) -> str:
    return "\n".join(_tool_call(node) for node in session.nodes if node.node_type == "tool_call")


def _tool_call(node: Node) -> str:
    call = {
        "tool": node.tool_name or node.name or None,
        "status": "asked for, no run recorded" if node.inferred else node.status,
        "arguments": without_secrets(node.inputs),
        "result": without_secrets(node.outputs),
    }
    if node.error:
        call["error"] = without_secrets(node.error)
    try:
        return json.dumps(call, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return json_text({name: str(value)[:2000] for name, value in call.items()})


_READERS: Final[Mapping[FieldName, Callable[[SessionView], str]]] = {
    "request": _request,
    "tool_calls": _tool_calls,
    "answer": _answer,
    "system_prompt": _system_prompt,
    "messages": _model_messages,
}


def _messages(payload: object) -> list[dict[str, object]]:
    messages = payload.get("messages") if isinstance(payload, dict) else payload
    return [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []


def _shares(lengths: Mapping[FieldName, int], room: int) -> dict[FieldName, int]:
    """Room for each field: the short ones whole, the long ones an even share of the rest."""
    shares: dict[FieldName, int] = {}
    left = room
    for position, (name, length) in enumerate(sorted(lengths.items(), key=lambda item: item[1])):
        shares[name] = min(length, left // (len(lengths) - position))
        left -= shares[name]
    return shares


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit * 2 // 3
    tail = limit - head
    gone = len(text) - limit
    return f"{text[:head]}\n[{gone} characters left out here]\n{text[len(text) - tail :] if tail else ''}"
