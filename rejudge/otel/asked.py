"""Arguments of tool calls as the model asked for them, where an instrumentation kept only a value.

LangChain hands a tool with one argument that argument; its tracers write down what they were handed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rejudge.otel.conventions.messages import Message


def restore_arguments(calls: Sequence[dict[str, Any]], said: Iterable[Message]) -> None:
    """Give tool calls that have a bare value for arguments the arguments that the model asked for.

    Args:
        calls: The facts of tool calls that are `is_bare`.
        said: What models answered, in the order of their calls.
    """
    asked: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for part in _requests(said):
        arguments = part.get("arguments")
        if isinstance(arguments, dict) and len(arguments) == 1:
            (value,) = arguments.values()
            if _is_value(value):
                asked.setdefault((part.get("name"), value), []).append(part)
    for facts in calls:
        for part in asked.get((facts["tool_name"], facts["inputs"]), ()):
            if facts["tool_call_id"] in (None, part.get("id")):
                facts["inputs"] = part["arguments"]
                break


def is_bare(facts: dict[str, Any]) -> bool:
    """True for a tool call of which one value was kept where its arguments belong."""
    return facts["node_type"] == "tool_call" and _is_value(facts["inputs"])


def _is_value(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _requests(said: Iterable[Message]) -> Iterator[dict[str, Any]]:
    for message in said:
        yield from (part for part in message["parts"] if part.get("type") == "tool_call")
