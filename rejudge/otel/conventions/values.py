"""Recorded arguments and results without what an instrumentation wrapped around them."""

from __future__ import annotations

import ast
import math
from decimal import Decimal, InvalidOperation
from typing import Any

from rejudge.otel.text import clean_value, undo_json, undo_json_fully

_LITERAL_LIMIT = 64 * 1024


def arguments_of(value: Any) -> Any:
    """A tool's arguments: JSON text undone, ``{"args": [], "kwargs": {…}}`` and LangChain's wrapping taken off."""
    value = undo_json(value)
    if not isinstance(value, dict):
        return value
    if "input_str" in value and "tags" in value:
        inputs = value.get("inputs")
        return inputs if isinstance(inputs, dict) else python_literal(value["input_str"])
    keywords = value.get("kwargs")
    if isinstance(keywords, dict):
        positional = value.get("args")
        if not positional and value.keys() <= _CALL_KEYS:
            return keywords
        if positional and not keywords and value.keys() <= _CALL_KEYS:
            return positional[0] if len(positional) == 1 and isinstance(positional[0], dict) else {"args": positional}
        return value
    return value


_CALL_KEYS = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})


def result_of(value: Any) -> Any:
    """A tool's result: JSON text undone, LangChain's ``ToolMessage`` taken off."""
    value = undo_json_fully(value)
    if isinstance(value, dict):
        if value.keys() <= {"output", "kwargs", "tags", "run_id", "parent_run_id"} and isinstance(
            value.get("output"), dict
        ):
            return result_of(value["output"])
        kwargs = value.get("kwargs")
        if "lc" in value and isinstance(kwargs, dict):
            return undo_json_fully(kwargs.get("content"))
        if value.get("type") == "tool" and "content" in value and "tool_call_id" in value:
            return undo_json_fully(value["content"])
        if value.get("type") == "tool" and value.keys() == {"type", "data"} and isinstance(value["data"], dict):
            return result_of({"type": "tool", **value["data"]})
        if value.get("type") == "text" and value.keys() <= _CONTENT_KEYS and isinstance(value.get("text"), str):
            return undo_json_fully(value["text"])
    return value


_CONTENT_KEYS = frozenset({"type", "text", "annotations", "meta"})
"""Of a content block as MCP servers answer with."""


def message_call_id(value: Any) -> str | None:
    """The call that a tool's result answers, where it is a ``ToolMessage`` of LangChain's."""
    value = undo_json(value)
    data = value.get("data") if isinstance(value, dict) and value.get("type") == "tool" else None
    identity = data.get("tool_call_id") if isinstance(data, dict) else None
    return identity if isinstance(identity, str) else None


_RUN_KEYS = frozenset({"output", "kwargs", "tags", "run_id", "parent_run_id"})


def python_literal(text: Any) -> Any:
    """The value behind the ``repr`` of a plain Python value; the text itself where it is none. Nothing is run."""
    if not isinstance(text, str) or len(text) > _LITERAL_LIMIT or text[:1] not in "{[('\"":
        return undo_json(text)
    try:
        return clean_value(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return undo_json(text)


def count(value: Any) -> int | None:
    """A token count; None for what is none (NaN, negative, fractional, text)."""
    if type(value) is int:
        return value if 0 <= value < 2**53 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() and 0 <= value < 2**53 else None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        return int(value)
    return None


def milliseconds(value: Any) -> int:
    """Nanoseconds of a duration in milliseconds, which may be text; 0 for none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return 0
    return int(number * 1_000_000) if 0 <= number < 1e9 else 0


def money(value: Any) -> Decimal | None:
    """An amount of US dollars; None for what is none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    try:
        amount = Decimal(str(value)) if isinstance(value, int | float | str | Decimal) else None
    except InvalidOperation:
        return None
    if amount is None or not amount.is_finite() or amount < 0 or amount >= 10**12:
        return None
    return amount
