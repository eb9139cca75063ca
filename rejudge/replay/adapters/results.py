"""A recorded result of a tool as the tool would have returned it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rejudge.models.canonical import JsonValue, canonical_bytes
from rejudge.replay.values import Misfit, jsonable, typed_result


def as_returned(function: Callable[..., Any] | None, recorded: JsonValue) -> Any:
    """The recorded result as the declared type, where that reads the same as what was recorded.

    What counts is what the model is shown: an int where a float is declared would be shown as another number.
    """
    try:
        typed = typed_result(function, recorded)
        same = isinstance(typed, str) or canonical_bytes(jsonable(typed)) == canonical_bytes(recorded)
    except (Misfit, ValueError):
        return recorded
    return typed if same else recorded
