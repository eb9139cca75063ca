"""Arguments of tool calls as the model asked for them, where an instrumentation kept only a value.

LangChain hands a tool with one argument that argument; its tracers write down what they were handed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def restore_arguments(nodes: list[dict[str, Any]]) -> None:
    """Give tool calls that have a bare value for arguments the arguments that the model asked for."""
    bare = [facts for facts in nodes if facts["node_type"] == "tool_call" and _is_bare(facts["inputs"])]
    if not bare:
        return
    asked: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for part in (part for facts in nodes for part in _calls(facts)):
        arguments = part.get("arguments")
        if isinstance(arguments, dict) and len(arguments) == 1:
            (value,) = arguments.values()
            if _is_bare(value):
                asked.setdefault((part.get("name"), value), []).append(part)
    for facts in bare:
        for part in asked.get((facts["tool_name"], facts["inputs"]), ()):
            if facts["tool_call_id"] in (None, part.get("id")):
                facts["inputs"] = part["arguments"]
                break


def _is_bare(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _calls(facts: dict[str, Any]) -> Iterator[dict[str, Any]]:
    outputs = facts["outputs"] if facts["node_type"] == "llm_call" else None
    for message in outputs["messages"] if outputs else ():
        yield from (part for part in message["parts"] if part.get("type") == "tool_call")
