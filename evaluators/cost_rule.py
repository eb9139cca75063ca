"""The cost rule: what a session cost, counted once.

*Direct* nodes are those that are not spans, and spans with a parent that was recorded; the other spans are *roots*.

1. Every model call and every direct node carries a cost: their sum.
2. Else every root span carries a cost above 0: the sum of the roots, never roots and children both.
3. Else only the session carries one: that.
4. Else every model call is priced and no root span is: the sum of what the direct nodes carry.
5. Else there is no total.

The rule is tried on what the trace recorded; only where that gives no total it is tried again with the price list's
estimates for model calls that carry tokens and a known model but no cost, and with what the importer estimated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from rejudge.evaluators.money import as_amount, exact_sum
from rejudge.evaluators.prices import estimated_cost
from rejudge.models import Node, SessionView

Rule: TypeAlias = Literal["direct nodes", "root spans", "session", "model calls"]
_PriceOf: TypeAlias = Callable[[Node], Decimal | None]


@dataclass(frozen=True, slots=True)
class Total:
    """What a session cost and how that was found."""

    amount: Decimal
    """US dollars, exact."""
    rule: Rule
    nodes: tuple[Node, ...]
    """The nodes whose costs were added; none where the session's own cost was taken."""
    estimated: int
    """How many of them carry an estimate instead of a recorded cost."""


def session_total(view: SessionView) -> Total | None:
    """The session's cost by the rule; None where it has no total."""
    said = session_statements(view)
    recorded = _total(view, recorded_cost, said[0] if said else None)
    if recorded is not None:
        return recorded
    # A ``partial`` cost is a sum over some of the calls, so it is nobody's total.
    estimated = view.session.cost if view.session.cost_status == "estimated" else None
    return _total(view, known_cost, as_amount(estimated))


def recorded_cost(node: Node) -> Decimal | None:
    """What the trace says a node cost, in US dollars."""
    return as_amount(node.cost) if node.cost_status in (None, "recorded") else None


def known_cost(node: Node) -> Decimal | None:
    """What a node cost: as recorded, else as estimated; a part of a price is none."""
    if node.cost_status in (None, "recorded", "estimated"):
        amount = as_amount(node.cost)
        if amount is not None:
            return amount
    return estimated_cost(node)


def split(view: SessionView) -> tuple[list[Node], list[Node]]:
    """The direct nodes and the root spans, in order."""
    recorded = {node.id for node in view.nodes}
    direct: list[Node] = []
    roots: list[Node] = []
    for node in view.nodes:
        if node.inferred:
            continue  # asked for, not recorded: it can carry no cost
        is_root = node.node_type == "span" and node.parent_id not in recorded
        (roots if is_root else direct).append(node)
    return direct, roots


def session_statements(view: SessionView) -> list[Decimal]:
    """What was said of the whole session's cost: nothing, one amount, or two that may differ.

    An importer that says how it came by the session's cost (``cost_status``) has added up its nodes: where they carry
    costs, that sum is no statement of its own, and may hold roots and children both.
    """
    own = view.session
    stated = own.cost_status is None or (own.cost_status == "recorded" and not _any_priced(view))
    said = [own.recorded_cost, own.cost if stated else None]
    return [amount for value in said if (amount := as_amount(value)) is not None]


def _any_priced(view: SessionView) -> bool:
    return any(recorded_cost(node) is not None for node in view.nodes)


def _total(view: SessionView, price_of: _PriceOf, session_cost: Decimal | None) -> Total | None:
    direct, roots = split(view)
    priced = [(node, amount) for node in direct if (amount := price_of(node)) is not None]
    if direct and len(priced) == len(direct):
        return _sum("direct nodes", priced)
    priced_roots = [(node, amount) for node in roots if (amount := price_of(node)) is not None and amount > 0]
    if roots and len(priced_roots) == len(roots):
        return _sum("root spans", priced_roots)
    if session_cost is not None and not priced and not priced_roots:
        return Total(session_cost, "session", (), estimated=0 if price_of is recorded_cost else 1)
    priced_ids = {id(node) for node, _ in priced}
    calls_are_priced = all(id(node) in priced_ids for node in direct if node.node_type == "llm_call")
    if priced and calls_are_priced and not priced_roots:
        return _sum("model calls", priced)
    return None


def _sum(rule: Rule, priced: Sequence[tuple[Node, Decimal]]) -> Total:
    nodes = tuple(node for node, _ in priced)
    estimated = sum(recorded_cost(node) is None for node in nodes)
    return Total(exact_sum(amount for _, amount in priced), rule, nodes, estimated)
