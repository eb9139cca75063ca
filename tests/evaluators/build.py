"""Sessions in a line: what the tables of these tests are written in."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Sequence
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import ModuleType
from typing import Any

from rejudge.evaluators.catalog import BUILT_IN
from rejudge.models import EvaluationResult, Node, Session, SessionView

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """A moment so many seconds after noon."""
    return NOON + timedelta(seconds=seconds)


def node(kind: str, **fields: Any) -> dict[str, Any]:
    """A node to be numbered by `session`; ``start``/``end`` are seconds after noon, ``cost`` may be text."""
    for short, field in (("start", "started_at"), ("end", "ended_at")):
        if short in fields:
            fields[field] = at(fields.pop(short))
    if isinstance(fields.get("cost"), str):
        fields["cost"] = Decimal(fields["cost"])
    return {"node_type": kind, **fields}


def tool(tool_name: str | None = None, **fields: Any) -> dict[str, Any]:
    """A tool call."""
    return node("tool_call", tool_name=tool_name, **fields)


def llm(**fields: Any) -> dict[str, Any]:
    """A model call."""
    return node("llm_call", **fields)


def span(**fields: Any) -> dict[str, Any]:
    """A span."""
    return node("span", **fields)


def session(*nodes: dict[str, Any], **fields: Any) -> SessionView:
    """A session of these nodes with ids n0, n1…; ``start``/``end`` and ``cost`` as in `node`."""
    own = node("session", **fields)
    del own["node_type"]
    made = [Node(**{"id": f"n{index}", "index": index, **facts}) for index, facts in enumerate(nodes)]
    return SessionView(Session(**{"id": "s1", **own}), made)


def load(name: str) -> tuple[ModuleType, Callable[..., Any]]:
    """The module and the function of a built-in evaluator."""
    module_name, attribute = BUILT_IN[name].split(":")
    module = importlib.import_module(module_name)
    return module, getattr(module, attribute)


def run(name: str, view: SessionView, /, **params: Any) -> dict[str, EvaluationResult]:
    """The rows of a built-in evaluator by name, after its own check of the params."""
    module, evaluate = load(name)
    if hasattr(module, "check_params"):
        module.check_params(params)
    read = view.pristine()
    before = deepcopy(_contents(read))
    returned = evaluate(read, **params)
    if asyncio.iscoroutine(returned):
        returned = asyncio.run(returned)
    assert _contents(read) == before, f"{name} changed what it read; the next built-in evaluator reads the same"
    rows: Sequence[EvaluationResult] = [returned] if isinstance(returned, EvaluationResult) else returned
    assert len({row.name for row in rows}) == len(rows)
    assert all(row.explanation and row.evidence is not None for row in rows)
    return {row.name: row for row in rows}


def _contents(view: SessionView) -> list[dict[str, Any]]:
    return [one.decoded().__dict__ for one in (view.session, *view.nodes)]
