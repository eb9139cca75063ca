"""Recorded histories decoded once: every model call of a conversation repeats all messages before it.

Where the text of a call's messages begins with the text of an earlier call's, only what is new is decoded, and the
messages they share are the same objects. A conversation of n turns costs n messages, not n squared.
"""

from __future__ import annotations

from collections import deque
from threading import local
from typing import Any, Final

from rejudge.otel.conventions.messages import Message, messages_of
from rejudge.otel.text import parse_text

_RECENT: Final = 4
"""Calls that are remembered: some agents have a few conversations going at once."""
_SHORT: Final = 64
_own = local()


def history_of(recorded: Any) -> list[Message]:
    """As `messages_of`, for the input of a model call."""
    if type(recorded) is not str or len(recorded) < _SHORT or recorded[0] != "[" or recorded[-1] != "]":
        return messages_of(recorded)
    recent: deque[tuple[str, list[Message]]] | None = getattr(_own, "recent", None)
    if recent is None:
        recent = _own.recent = deque(maxlen=_RECENT)
    for text, known in recent:
        if text == recorded:
            return known
        # Without its closing bracket, the earlier text must be followed by one more element.
        if recorded.startswith(text[:-1]) and recorded[len(text) - 1 : len(text) + 1].lstrip()[:1] == ",":
            more = _rest(recorded, len(text) - 1)
            if more is not None:
                return _remembered(recent, recorded, known + more)
    found = messages_of(recorded)
    if _is_plain(recorded, found):
        return _remembered(recent, recorded, found)
    return found


def _remembered(recent: deque[tuple[str, list[Message]]], text: str, messages: list[Message]) -> list[Message]:
    recent.appendleft((text, messages))
    return messages


def _rest(recorded: str, start: int) -> list[Message] | None:
    """The messages after a beginning that is known; None where they are not one list of messages."""
    rest = "[" + recorded[start:].lstrip()[1:]
    try:
        items = parse_text(rest)
    except ValueError:
        return None
    if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
        return None
    return [message for item in items for message in messages_of([item])]


def _is_plain(recorded: str, found: list[Message]) -> bool:
    """True where each element of the list is one message, so that beginnings can be shared."""
    return bool(found) and recorded.startswith("[{")
