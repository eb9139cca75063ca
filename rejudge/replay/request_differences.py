"""Where two requests to models differ, as a person wants to be told."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from rejudge.models.canonical import JsonValue
from rejudge.models.replay import ArgumentDifference
from rejudge.replay.keys import DIFFERENCE_LIMIT, argument_differences
from rejudge.replay.request import ModelRequest, canonical_messages, known_parameters, tool_names


def request_differences(recorded: ModelRequest, asked: ModelRequest) -> tuple[ArgumentDifference, ...]:
    """The differences that make it another request, message by message; at most `DIFFERENCE_LIMIT` of them.

    Example:
        >>> request_differences(ModelRequest("desk", ()), ModelRequest("new", ()))[0].called
        'new'
    """
    left, right = known_parameters(recorded), known_parameters(asked)
    pairs: list[tuple[str, JsonValue, JsonValue]] = [
        ("/model", recorded.model, asked.model),
        ("/system", recorded.system_text, asked.system_text),
    ]
    # What a trace does not say of its parameters and tools is no difference.
    if left:
        pairs += [(f"/parameters/{name}", left.get(name), right.get(name)) for name in {**left, **right}]
    if recorded.tools and asked.tools is not None:
        pairs.append(("/tools", list(tool_names(recorded)), list(tool_names(asked))))
    messages = zip_longest(canonical_messages(recorded.messages), canonical_messages(asked.messages))
    pairs += [(f"/messages/{at}", _message(one), _message(other)) for at, (one, other) in enumerate(messages)]
    found = [_difference(*pair) for pair in pairs if argument_differences(pair[1], pair[2])]
    return tuple(found[:DIFFERENCE_LIMIT])


def _difference(path: str, recorded: JsonValue, called: JsonValue) -> ArgumentDifference:
    if recorded is None:
        return ArgumentDifference(path=path, called=called, kind="added")
    if called is None:
        return ArgumentDifference(path=path, recorded=recorded, kind="removed")
    return ArgumentDifference(path=path, recorded=recorded, called=called)


def _message(message: list[Any] | None) -> JsonValue:
    """``role: text`` where it is only text, else role and parts."""
    if message is None:
        return None
    role, parts = message
    if all(part[0] == "text" for part in parts):
        return f"{role}: {''.join(str(part[1]) for part in parts)}"
    return {"role": role, "parts": parts}
