"""Filter expressions over session fields, such as ``status == "failed" and cost > 0.1 and "refund" in tool_names``.

The grammar is Python's own expression grammar, parsed and never evaluated: comparisons of a field with a constant,
joined by ``and``, ``or``, ``not``.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Final

from sqlalchemy import ColumnElement, Float, String, and_, exists, not_, or_
from sqlalchemy import cast as sql_cast

from rejudge.errors import UsageError
from rejudge.store.tables import core
from rejudge.store.types import storable

_SESSION: Final = core.sessions.c
_PLAIN: Final = (
    "number external_id source origin status name framework user_id error llm_call_count llm_error_count "
    "tool_call_count tool_error_count node_count input_tokens output_tokens cached_input_tokens reasoning_tokens "
    "cost_status complete agent_version started_at ended_at"
)
_FIELDS: Final[dict[str, ColumnElement[Any]]] = {
    **{name: _SESSION[name] for name in _PLAIN.split()},
    "agent": core.agents.c.name,
    # Money is text on SQLite: comparing needs a number.
    "cost": sql_cast(_SESSION.cost, Float),
}
_SETS: Final = {
    "tags": (core.tags.c.session_id, core.tags.c.name, None),
    "tool_names": (core.nodes.c.session_id, core.nodes.c.tool_name, core.nodes.c.node_type == "tool_call"),
    "models": (core.nodes.c.session_id, core.nodes.c.model, core.nodes.c.node_type == "llm_call"),
    "agents": (core.nodes.c.session_id, core.nodes.c.agent_name, None),
}
_COMPARE: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

_TIMES: Final = ("started_at", "ended_at")
_MIRRORED: Final[dict[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    operator.lt: operator.gt,
    operator.gt: operator.lt,
    operator.le: operator.ge,
    operator.ge: operator.le,
}


def compile_filter(text: str) -> ColumnElement[bool]:
    """The SQL condition of a filter expression; joins ``session`` and ``agent``.

    Raises:
        UsageError: For what is no such expression, with the place.
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _refusal(text, "it cannot be read") from error
    try:
        return _condition(tree.body)
    except _Unreadable as error:
        raise _refusal(text, str(error)) from error


class _Unreadable(Exception):
    """A part of the expression that is not in the grammar."""


def _refusal(text: str, why: str) -> UsageError:
    return UsageError(
        f"filter {text!r}: {why}",
        mend='compare fields with values, such as: status == "failed" and tool_call_count > 3 and "vip" in tags',
    )


def _condition(node: ast.expr) -> ColumnElement[bool]:
    match node:
        case ast.BoolOp(op=ast.And(), values=values):
            return and_(*(_condition(value) for value in values))
        case ast.BoolOp(op=ast.Or(), values=values):
            return or_(*(_condition(value) for value in values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not_(_condition(operand))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [left, *comparators]
            return and_(*(_comparison(sides[i], op, sides[i + 1]) for i, op in enumerate(ops)))
        case ast.Name(id="complete"):
            return _SESSION.complete.is_(True)
    raise _Unreadable(f"{ast.unparse(node)!r} is no comparison")


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ColumnElement[bool]:
    if isinstance(op, ast.In | ast.NotIn):
        found = _membership(left, right)
        return not_(found) if isinstance(op, ast.NotIn) else found
    if isinstance(op, ast.Is | ast.IsNot):
        field = _field(left)
        if _constant(right) is not None:
            raise _Unreadable("'is' goes with None only")
        return field.is_not(None) if isinstance(op, ast.IsNot) else field.is_(None)
    compare = _COMPARE[type(op)]
    if isinstance(left, ast.Name):
        field, value = _field(left), _constant(right)
        return _compared(compare, field, _coerced(left.id, value))
    if isinstance(right, ast.Name):
        return _compared(_MIRRORED.get(compare, compare), _field(right), _coerced(right.id, _constant(left)))
    raise _Unreadable(f"{ast.unparse(left)!r} names no field")


def _compared(compare: Callable[[Any, Any], Any], field: ColumnElement[Any], value: Any) -> ColumnElement[bool]:
    if value is None:
        if compare is operator.eq:
            return field.is_(None)
        if compare is operator.ne:
            return field.is_not(None)
        raise _Unreadable("None has no order")
    result: ColumnElement[bool] = compare(field, value)
    return result


def _membership(left: ast.expr, right: ast.expr) -> ColumnElement[bool]:
    if isinstance(right, ast.Name) and right.id in _SETS:
        session_id, value, condition = _SETS[right.id]
        found = exists().where(session_id == _SESSION.id, value == _constant(left))
        return found.where(condition) if condition is not None else found
    if isinstance(right, ast.Name):
        text = _constant(left)
        if not isinstance(text, str):
            raise _Unreadable(f"{ast.unparse(left)!r} is no text")
        return sql_cast(_field(right), String).contains(text, autoescape=True)
    if isinstance(left, ast.Name) and isinstance(right, ast.List | ast.Tuple | ast.Set):
        return _field(left).in_([_coerced(left.id, _constant(item)) for item in right.elts])
    raise _Unreadable(f"{ast.unparse(right)!r} holds nothing to look in")


def _field(node: ast.expr) -> ColumnElement[Any]:
    if not isinstance(node, ast.Name):
        raise _Unreadable(f"{ast.unparse(node)!r} is no field")
    field = _FIELDS.get(node.id)
    if field is None:
        if node.id in _SETS:
            raise _Unreadable(f'write "value" in {node.id}')
        near = get_close_matches(node.id, [*_FIELDS, *_SETS], 1)
        hint = f"; did you mean {near[0]}?" if near else f"; there are {', '.join(sorted([*_FIELDS, *_SETS]))}"
        raise _Unreadable(f"no field {node.id!r}{hint}")
    return field


def _constant(node: ast.expr) -> Any:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        if isinstance(value, int | float):
            return -value
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | bool | None):
        if isinstance(node.value, str) and storable(node.value) != node.value:
            raise _Unreadable(f"{ast.unparse(node)} is a text that no session can hold")
        if isinstance(node.value, int) and node.value >= 2**63:
            raise _Unreadable(f"{ast.unparse(node)} is larger than any number in a session")
        return node.value
    raise _Unreadable(f"{ast.unparse(node)!r} is no plain value")


def _coerced(name: str, value: Any) -> Any:
    """The value in the field's own type: PostgreSQL compares no text with a number."""
    if value is None:
        return None
    kind: type[Any] = _FIELDS[name].type.python_type if name in _FIELDS else str
    try:
        if name in _TIMES:
            moment = datetime.fromisoformat(str(value))
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        if kind is bool:
            return bool(value)
        if kind in (int, float, Decimal):
            return float(value) if isinstance(value, float) or kind is float else int(value)
        return str(value)
    except (TypeError, ValueError) as error:
        raise _Unreadable(f"{name} cannot be compared with {value!r}") from error
