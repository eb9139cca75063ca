"""``rejudge/model-policy``: which models and providers may answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from rejudge.evaluators.llm_call_signals import is_other_model
from rejudge.evaluators.reading import is_terminal, model_calls
from rejudge.evaluators.rows import evidence_of, figure, plural, shown
from rejudge.models import EvaluationResult, Node, SessionView

Names: TypeAlias = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where at least one rule is set.

    Raises:
        ValueError: Otherwise.
    """
    names = ("allowed_models", "allowed_providers", "require_requested_model_match")
    if not any(params.get(name) for name in names):
        raise ValueError(f"set at least one of {', '.join(names)}")


def evaluate(
    session: SessionView,
    *,
    allowed_models: Names | None = None,
    allowed_providers: Names | None = None,
    require_requested_model_match: bool = False,
) -> list[EvaluationResult]:
    """One row for each rule that is set.

    Args:
        session: The session.
        allowed_models: The models that may answer, by their exact names.
        allowed_providers: The providers that may be asked, by their exact names.
        require_requested_model_match: Whether the model that answers must be the one that was requested.
    """
    rows: list[EvaluationResult] = []
    if allowed_models is not None:
        rows.append(_allowed(session, "allowed_models", lambda node: node.model, allowed_models))
    if allowed_providers is not None:
        rows.append(_allowed(session, "allowed_providers", lambda node: node.provider, allowed_providers))
    if require_requested_model_match:
        calls = model_calls(session)
        others = [node for node in calls if is_other_model(node)]
        unknown = [node for node in calls if not node.model or not node.requested_model]
        seen = Counter(f"{shown(node.requested_model)} -> {shown(node.model)}" for node in others)
        rows.append(_row(session, "requested_model_match", others, unknown, seen))
    return rows


def _allowed(
    view: SessionView, name: str, fact: Callable[[Node], str | None], allowed: list[str]
) -> EvaluationResult:
    calls, names = model_calls(view), frozenset(allowed)
    outside = [node for node in calls if fact(node) and fact(node) not in names]
    unknown = [node for node in calls if not fact(node)]
    return _row(view, name, outside, unknown, Counter(shown(fact(node)) for node in outside))


def _row(
    view: SessionView, name: str, outside: list[Node], unknown: list[Node], seen: Counter[str]
) -> EvaluationResult:
    total = len(model_calls(view))
    explanation = f"{len(outside)} of {plural(total, 'model call')} outside the rule"
    if seen:
        explanation += ": " + ", ".join(f"{what} x{count}" for what, count in seen.most_common(5))
    if unknown:
        explanation += f"; {len(unknown)} that do not say"
    whole = is_terminal(view) and total > 0 and not unknown
    passed = False if outside else (True if whole else None)
    evidence = evidence_of(view, outside or unknown, outside=dict(seen.most_common(20)), unknown=len(unknown))
    return figure(name, len(outside), explanation, evidence, maximum=total, lower=True, passed=passed)
