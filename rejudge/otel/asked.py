"""Arguments of tool calls as the model asked for them, where an instrumentation kept only a value.

LangChain hands a tool with one argument that argument; its tracers write down what they were handed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rejudge.otel.conventions.messages import Message


class Asked:
    """What the models of a session asked of tools."""

    def __init__(self, said: Iterable[Message]) -> None:
        """Nothing is looked at before it is needed.

        Args:
            said: What models answered, in the order of their calls.
        """
        self._said = said
        self._parts: dict[tuple[Any, Any], list[dict[str, Any]]] | None = None

    def restore(self, facts: dict[str, Any]) -> None:
        """Give a tool call that has a bare value for arguments the arguments that were asked for."""
        value = facts["inputs"]
        if not _is_bare(value):
            return
        if self._parts is None:
            self._parts = self._read()
        for part in self._parts.get((facts["tool_name"], value), ()):
            if facts["tool_call_id"] in (None, part.get("id")):
                facts["inputs"] = part["arguments"]
                return

    def _read(self) -> dict[tuple[Any, Any], list[dict[str, Any]]]:
        found: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
        for part in (part for message in self._said for part in message["parts"]):
            arguments = part.get("arguments") if part.get("type") == "tool_call" else None
            if isinstance(arguments, dict) and len(arguments) == 1:
                (value,) = arguments.values()
                if _is_bare(value):
                    found.setdefault((part.get("name"), value), []).append(part)
        return found


def _is_bare(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
