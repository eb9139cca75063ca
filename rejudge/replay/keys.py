"""Under which key a call is looked up, and what of its arguments counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from rejudge.models.canonical import JsonValue, canonical_bytes
from rejudge.models.replay import ArgumentDifference

DIFFERENCE_LIMIT = 20
"""Differences beyond this many say nothing more to a reader."""


def call_key(name: str, arguments: JsonValue, *, ignore: Sequence[str] = ()) -> str:
    """Hex SHA-256 over the name, a zero byte and the arguments as canonical JSON, less the ignored ones.

    Raises:
        ValueError: For arguments that are no JSON.
    """
    kept = without(arguments, ignore) if ignore else arguments
    return hashlib.sha256(name.encode("utf-8", "surrogatepass") + b"\0" + canonical_bytes(kept)).hexdigest()


def without(arguments: JsonValue, ignore: Iterable[str]) -> JsonValue:
    """The arguments less the ignored ones; what is not there is no error.

    Example:
        >>> without({"id": 1, "meta": {"now": 2, "by": 3}}, ["id", "/meta/now"])
        {'meta': {'by': 3}}
    """
    for entry in ignore:
        path = _steps(entry)
        arguments = _less(arguments, path) if path else arguments
    return arguments


def _steps(entry: str) -> list[str]:
    if not entry.startswith("/"):
        return [entry]
    return [step.replace("~1", "/").replace("~0", "~") for step in entry[1:].split("/")]


def _less(value: JsonValue, path: list[str]) -> JsonValue:
    step, rest = path[0], path[1:]
    if isinstance(value, dict):
        if step not in value:
            return value
        if not rest:
            return {key: item for key, item in value.items() if key != step}
        return {**value, step: _less(value[step], rest)}
    if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
        at = int(step)
        return [*value[:at], *([_less(value[at], rest)] if rest else []), *value[at + 1 :]]
    return value


def argument_differences(recorded: JsonValue, called: JsonValue) -> tuple[ArgumentDifference, ...]:
    """Where two calls' arguments differ, as JSON pointers; at most `DIFFERENCE_LIMIT` of them.

    Example:
        >>> argument_differences({"amount": 20}, {"amount": 25})[0].path
        '/amount'
    """
    found: list[ArgumentDifference] = []
    _compare(recorded, called, "", found)
    return tuple(found[:DIFFERENCE_LIMIT])


def _compare(recorded: JsonValue, called: JsonValue, path: str, found: list[ArgumentDifference]) -> None:
    if len(found) > DIFFERENCE_LIMIT:
        return
    if isinstance(recorded, dict) and isinstance(called, dict):
        for key in [*recorded, *(key for key in called if key not in recorded)]:
            _compare_member(recorded, called, key, f"{path}/{_escaped(str(key))}", found)
    elif isinstance(recorded, list) and isinstance(called, list) and len(recorded) == len(called):
        for at, (left, right) in enumerate(zip(recorded, called, strict=True)):
            _compare(left, right, f"{path}/{at}", found)
    elif not _same(recorded, called):
        found.append(ArgumentDifference(path=path, recorded=recorded, called=called))


def _same(recorded: JsonValue, called: JsonValue) -> bool:
    """As their keys have it: 1 and 1.0 differ, and so do 0.0 and -0.0."""
    try:
        return canonical_bytes(recorded) == canonical_bytes(called)
    except ValueError:
        return bool(recorded == called)


def _compare_member(
    recorded: dict[str, JsonValue],
    called: dict[str, JsonValue],
    key: str,
    path: str,
    found: list[ArgumentDifference],
) -> None:
    if key not in called:
        found.append(ArgumentDifference(path=path, recorded=recorded[key], kind="removed"))
    elif key not in recorded:
        found.append(ArgumentDifference(path=path, called=called[key], kind="added"))
    else:
        _compare(recorded[key], called[key], path, found)


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")
