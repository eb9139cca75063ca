"""From an override in a `ModelRequest` back to the body that a client was about to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rejudge.models.canonical import JsonValue
from rejudge.replay.request import SYSTEM_ROLES, ModelRequest, text_of


def changed_system(before: ModelRequest, after: ModelRequest) -> str | None:
    """The new system text; None where it is the old one."""
    return None if before.system_text == after.system_text else after.system_text


def changed_texts(before: ModelRequest, after: ModelRequest) -> dict[int, str]:
    """By place in ``before.messages``, the new text of messages that do not instruct."""
    places = [place for place, message in enumerate(before.messages) if message.get("role") not in SYSTEM_ROLES]
    kept = [message for message in after.messages if message.get("role") not in SYSTEM_ROLES]
    return {
        place: "\n".join(text for part in message.get("parts") or () if (text := text_of(part)) is not None)
        for place, message in zip(places, kept, strict=True)
        if message != before.messages[place]
    }


def changed_parameters(before: ModelRequest, after: ModelRequest) -> dict[str, JsonValue]:
    """The parameters that are new or have another value; None for those that were taken out."""
    changed = {
        name: value
        for name, value in after.parameters.items()
        if name not in before.parameters or before.parameters[name] != value
    }
    return {**changed, **{name: None for name in before.parameters if name not in after.parameters}}


def parameters_of(body: Mapping[str, Any], spellings: Mapping[str, str], left_out: frozenset[str]) -> dict[str, Any]:
    """A body's parameters under the names that the GenAI conventions give them.

    Args:
        spellings: Names in the body, and what the conventions call them.
        left_out: What is in the body and no parameter.
    """
    found = {
        spellings.get(name, name): value for name, value in body.items() if name not in left_out and value is not None
    }
    stop = found.get("stop_sequences")
    return {**found, "stop_sequences": [stop]} if isinstance(stop, str) else found


def with_parameters(
    body: Mapping[str, Any], changed: Mapping[str, JsonValue], spellings: Mapping[str, str]
) -> dict[str, Any]:
    """The body with changed parameters, each under the name that the body has for it."""
    edited = dict(body)
    for name, value in changed.items():
        spelled = [key for key, meant in spellings.items() if meant == name]
        present = [key for key in (*spelled, name) if key in body]
        key = present[0] if present else (spelled[0] if spelled else name)
        if value is None:
            for gone in present:
                del edited[gone]
        else:
            edited[key] = value
    return edited


def with_system_item(items: Sequence[Any], text: str) -> list[Any] | None:
    """The messages with the first that instructs saying this, and no other that does; None where none does."""
    at = [place for place, item in enumerate(items) if isinstance(item, dict) and item.get("role") in SYSTEM_ROLES]
    if not at:
        return None
    changed = [{**item, "content": text} if place == at[0] else item for place, item in enumerate(items)]
    return [item for place, item in enumerate(changed) if place not in at[1:]]


def with_texts(items: Sequence[Any], texts: Mapping[int, str]) -> list[Any]:
    """The messages with some of them saying something else."""
    return [_saying(item, texts[place]) if place in texts else item for place, item in enumerate(items)]


def _saying(item: Any, text: str) -> Any:
    if not isinstance(item, dict):
        return text
    content = item.get("content")
    if not isinstance(content, list):
        return {**item, "content": text}
    at = [place for place, part in enumerate(content) if isinstance(part, dict) and "text" in part]
    if not at:
        return {**item, "content": [{"type": "text", "text": text}, *content]}
    changed = [{**part, "text": text} if place == at[0] else part for place, part in enumerate(content)]
    return {**item, "content": [part for place, part in enumerate(changed) if place not in at[1:]]}
