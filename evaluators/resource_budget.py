"""``rejudge/resource-budget``: ceilings on time, money, tokens and steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field

from rejudge.evaluators import budget_observations as observe
from rejudge.evaluators.money import amount_text
from rejudge.evaluators.reading import is_terminal
from rejudge.evaluators.rows import evidence_of, figure, unscored
from rejudge.models import EvaluationResult, SessionView

Amount: TypeAlias = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count: TypeAlias = Annotated[int, Field(ge=0)]

_BUDGETS: Final[Mapping[str, tuple[str, Callable[[SessionView], observe.Observation]]]] = {
    "max_duration_seconds": ("duration_budget", observe.duration),
    "max_cost": ("cost_budget", observe.cost),
    "max_total_tokens": ("total_tokens_budget", observe.total_tokens),
    "max_nodes": ("node_count_budget", observe.node_count),
    "max_llm_calls": ("llm_call_count_budget", observe.llm_call_count),
    "max_tool_calls": ("tool_call_count_budget", observe.tool_call_count),
}


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where at least one ceiling is set and all are finite.

    Raises:
        ValueError: Otherwise.
    """
    ceilings = {name: params[name] for name in _BUDGETS if params.get(name) is not None}
    if not ceilings:
        raise ValueError(f"set at least one of {', '.join(_BUDGETS)}")
    for name, ceiling in ceilings.items():
        if isinstance(ceiling, bool) or not math.isfinite(ceiling) or ceiling < 0:
            raise ValueError(f"{name}: {ceiling!r} is no ceiling; use a finite number from 0 on")


def evaluate(
    session: SessionView,
    *,
    max_duration_seconds: Amount | None = None,
    max_cost: Amount | None = None,
    max_total_tokens: Count | None = None,
    max_nodes: Count | None = None,
    max_llm_calls: Count | None = None,
    max_tool_calls: Count | None = None,
) -> list[EvaluationResult]:
    """One row for each ceiling that is set; a ceiling itself is still within.

    Args:
        session: The session.
        max_duration_seconds: Seconds of wall clock.
        max_cost: US dollars.
        max_total_tokens: Input and output tokens together.
        max_nodes: Recorded steps of any kind.
        max_llm_calls: Model calls.
        max_tool_calls: Tool calls.
    """
    ceilings: dict[str, float | None] = {
        "max_duration_seconds": max_duration_seconds,
        "max_cost": max_cost,
        "max_total_tokens": max_total_tokens,
        "max_nodes": max_nodes,
        "max_llm_calls": max_llm_calls,
        "max_tool_calls": max_tool_calls,
    }
    return [
        _row(session, name, Decimal(str(ceiling)), observer(session))
        for param, (name, observer) in _BUDGETS.items()
        if (ceiling := ceilings[param]) is not None
    ]


def _row(view: SessionView, name: str, ceiling: Decimal, seen: observe.Observation) -> EvaluationResult:
    evidence = evidence_of(view, seen.nodes, ceiling=amount_text(ceiling), whole=seen.whole)
    if seen.largest is None:
        return unscored(name, f"nothing recorded says how much it was: {seen.words}", evidence)
    over = seen.largest > ceiling
    relation = "over" if over else "within"
    explanation = f"{amount_text(seen.largest)} is {relation} the ceiling of {amount_text(ceiling)} ({seen.words})"
    passed: bool | None = False if over else None
    if not over and seen.whole and is_terminal(view):
        passed = True
    return figure(name, seen.largest, explanation, evidence, maximum=ceiling, lower=True, passed=passed)
