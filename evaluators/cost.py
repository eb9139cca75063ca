"""``rejudge/cost``: what a session cost, in US dollars."""

from __future__ import annotations

from decimal import Decimal

from rejudge.evaluators.cost_rule import Total, known_cost, session_total
from rejudge.evaluators.money import amount_text, exact_sum
from rejudge.evaluators.reading import model_calls
from rejudge.evaluators.rows import evidence_of, figure, plural, unscored
from rejudge.models import EvaluationResult, SessionView


def evaluate(session: SessionView) -> EvaluationResult:
    """The session's total cost by the cost rule; unscored where it cannot be told."""
    total = session_total(session)
    return _unpriced(session) if total is None else _priced(session, total)


def _priced(view: SessionView, total: Total) -> EvaluationResult:
    status = "estimated" if total.estimated else "recorded"
    whence = "the session's own cost" if total.rule == "session" else _whence(total)
    evidence = evidence_of(
        view,
        total.nodes,
        rule=total.rule,
        cost=amount_text(total.amount),
        cost_status=status,
        estimated=total.estimated,
    )
    return figure("cost", total.amount, f"{amount_text(total.amount)} USD: {whence} ({status})", evidence, lower=True)


def _whence(total: Total) -> str:
    noun = {"root spans": "root span", "model calls": "priced node"}.get(total.rule, "node")
    estimates = f", {total.estimated} of them by the price list" if total.estimated else ""
    return f"the sum of {plural(len(total.nodes), noun)}{estimates}"


def _unpriced(view: SessionView) -> EvaluationResult:
    calls = model_calls(view)
    unpriced = [node for node in calls if known_cost(node) is None]
    known: Decimal = exact_sum(amount for node in view.nodes if (amount := known_cost(node)) is not None)
    if not unpriced:
        why = f"no total cost: none is recorded, over {plural(len(view.nodes), 'node')}"
    else:
        why = f"no total cost: {len(unpriced)} of {plural(len(calls), 'model call')} carry no cost and no known price"
    return unscored("cost", why, evidence_of(view, unpriced, model_calls=len(calls), known_cost=amount_text(known)))
