"""A recorded failure as the exception that it was."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Callable
from typing import Any, Final

from rejudge.errors import RecordedToolError


def recorded_failure(
    recorded_type: str | None, message: str, *, function: Callable[..., Any] | None = None
) -> Exception:
    """The recorded exception, of its own class where that is one the agent could catch.

    Only classes of modules that are loaded already are looked at: a name in a recording never makes anything
    be imported, and an ``except`` clause that could tell the difference has its class loaded. What is no
    Exception (SystemExit, KeyboardInterrupt) comes back as `RecordedToolError`.

    Args:
        recorded_type: ``package.module.Class``, or a bare class name.
        function: The tool; a bare name is looked up among the builtins, then in its module.
    """
    kind = _class_named(_told_type(recorded_type, message) or "", function)
    message = plain_message(recorded_type, message)
    made = _instance(kind, message) if kind is not None else None
    return made if made is not None else RecordedToolError(message, recorded_type=recorded_type)


def plain_message(recorded_type: str | None, text: str) -> str:
    """An error's own words: instrumentations write its class before them, or its repr with the traceback.

    Example:
        >>> plain_message("ValueError", "ValueError: no order 7")
        'no order 7'
    """
    name = (_told_type(recorded_type, text) or "").rpartition(".")[2]
    if not name or not text.startswith(name):
        return text
    rest = text[len(name) :]
    if rest.startswith(": "):
        return rest[2:]
    shown = _REPR.match(rest)
    if shown is None:
        return text
    try:
        return str(ast.literal_eval(shown[1]))
    except (ValueError, SyntaxError):
        return text


def _told_type(recorded_type: str | None, text: str) -> str | None:
    """The class: some record but ``Exception``, and the repr of the error as its text."""
    if recorded_type not in (None, "", "Exception"):
        return recorded_type
    name, opens, _ = text.partition("(")
    told = opens and name.isidentifier() and name[0].isupper() and _REPR.match(text[len(name) :])
    return name if told else recorded_type


_REPR: Final = re.compile(r"""\(('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"),?\)(?=Traceback|\s*$)""")
"""What follows a class in the repr of an error with one text."""


def type_name(error: BaseException) -> str:
    """The name under which an exception's class is recorded: dotted, but for the builtins."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _class_named(recorded_type: str, function: Callable[..., Any] | None) -> type[Exception] | None:
    if not all(part.isidentifier() for part in recorded_type.split(".")):
        return None
    parts = recorded_type.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:cut]))
        if module is not None and (found := _within(_names(module), parts[cut:])) is not None:
            return found
    # A script records its own classes under __main__, and is loaded under its own name in a replay.
    names = parts[1:] if parts[0] == "__main__" else parts
    if len(names) > 1 and parts[0] != "__main__":
        return None
    own = getattr(function, "__globals__", {})
    return _within(vars(builtins), names) or _within(own, names)


def _names(module: object) -> dict[str, Any]:
    names: dict[str, Any] = getattr(module, "__dict__", {})  # sys.modules can hold anything
    return names


def _within(names: dict[str, Any], path: list[str]) -> type[Exception] | None:
    found: Any = names.get(path[0])
    for step in path[1:]:
        found = vars(found).get(step) if isinstance(found, type) else None
    return found if isinstance(found, type) and issubclass(found, Exception) else None


def _instance(kind: type[Exception], message: str) -> Exception | None:
    try:
        made = kind(message)
        if str(made) == message or message in str(made) or str(made).strip("'\"") == message:
            return made
    except Exception:
        pass
    # A class whose constructor wants more than a text: made without it, with the text to show.
    try:
        bare = kind.__new__(kind)
        bare.args = (message,)
        return bare if str(bare) == message else None
    except Exception:
        return None
