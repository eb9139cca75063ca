"""What a session used up, as its own fields and its nodes say it, and whether the two tell the whole story."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rejudge.evaluators.clock import interval
from rejudge.evaluators.cost_rule import known_cost, recorded_cost, session_statements, session_total, split
from rejudge.evaluators.money import amount_text, exact_sum
from rejudge.evaluators.reading import inferred_tool_calls, is_token_count, model_calls, tool_calls
from rejudge.evaluators.rows import plural
from rejudge.models import Node, SessionView


@dataclass(frozen=True, slots=True)
class Observation:
    """One resource as it was recorded."""

    largest: Decimal | None
    """The largest amount that anything recorded says; None where nothing says any."""
    whole: bool
    """Whether all the evidence is there and agrees, so that the largest amount is the amount."""
    words: str
    """The figures in words."""
    nodes: Sequence[Node] = ()
    """The nodes that carry the amount."""


def duration(view: SessionView) -> Observation:
    """Seconds, by the session's own clock and from its first node's start to its last node's end."""
    own, nodes = interval(view.session), [between for node in view.nodes if (between := interval(node)) is not None]
    said = None if own is None else _seconds(own[1] - own[0])
    spanned = None
    if nodes:
        spanned = _seconds(max(end for _, end in nodes) - min(start for start, _ in nodes))
    whole = said is not None and (spanned is None or spanned <= said)
    words = f"session {_text(said, ' s')}, nodes {_text(spanned, ' s')}"
    return Observation(_largest(said, spanned), whole, words)


def cost(view: SessionView) -> Observation:
    """US dollars: the total by the cost rule, the sums of what is priced, and the session's own."""
    total = session_total(view)
    # Where the total was recorded, no estimate may exceed it.
    price_of = known_cost if total is None or total.estimated else recorded_cost
    direct, roots = split(view)
    priced = [(node, amount) for node in direct if (amount := price_of(node)) is not None]
    sums = [
        _sum(amount for _, amount in priced),
        _sum(amount for node in roots if (amount := price_of(node)) is not None),
    ]
    said = session_statements(view)
    whole = total is not None and all(_agree(total.amount, amount) for amount in said)
    found = _largest(total.amount if total else None, *said, *sums)
    words = (
        f"total {_text(total.amount if total else None, ' USD')}, session {_text(_largest(*said), ' USD')}, "
        f"{len(priced)} of {plural(len(direct), 'node')} priced"
    )
    return Observation(found, whole, words, total.nodes if total else [node for node, _ in priced])


def total_tokens(view: SessionView) -> Observation:
    """Input and output tokens, of the session and summed over its model calls."""
    calls = model_calls(view)
    counts = [(node, _tokens(node.input_tokens), _tokens(node.output_tokens)) for node in calls]
    counted = [node for node, sent, answered in counts if sent is not None and answered is not None]
    known = [amount for _, *both in counts for amount in both if amount is not None]
    said_in, said_out = _tokens(view.session.input_tokens), _tokens(view.session.output_tokens)
    said = [amount for amount in (said_in, said_out) if amount is not None]
    of_nodes = sum(known) if known else None
    of_session = sum(said) if said else None
    complete = len(counted) == len(calls) if calls else len(said) == 2
    agree = len(said) < 2 or not calls or of_session == of_nodes
    words = (
        f"session {_text(of_session)}, nodes {_text(of_nodes)}; "
        f"{len(counted)} of {plural(len(calls), 'model call')} with both token counts"
    )
    return Observation(_largest(of_session, of_nodes), complete and agree, words, counted)


def node_count(view: SessionView) -> Observation:
    """Nodes."""
    return _count(list(view.nodes), view.session.node_count)


def llm_call_count(view: SessionView) -> Observation:
    """Model calls."""
    return _count(model_calls(view), view.session.llm_call_count)


def tool_call_count(view: SessionView) -> Observation:
    """Tool calls; a call that a model asked for without a recorded run leaves the count open."""
    asked = len(inferred_tool_calls(view))
    observed = _count(tool_calls(view), view.session.tool_call_count)
    words = f"{observed.words}, {asked} asked for without a recorded run" if asked else observed.words
    return Observation(observed.largest, observed.whole and not asked, words, observed.nodes)


def _count(nodes: list[Node], said: int) -> Observation:
    """A session that says 0 beside recorded nodes has not counted them: no contradiction."""
    largest = _largest(len(nodes), said)
    return Observation(largest, said in (0, len(nodes)), f"{len(nodes)} recorded, the session says {said}", nodes)


def _seconds(microseconds: int) -> Decimal:
    return Decimal(microseconds) / 1_000_000


def _tokens(value: object) -> int | None:
    return value if isinstance(value, int) and is_token_count(value) else None


def _sum(amounts: Iterable[Decimal]) -> Decimal | None:
    known = list(amounts)
    return exact_sum(known) if known else None


def _agree(one: Decimal, other: Decimal) -> bool:
    """Equal but for what a float lost on its way into the trace."""
    return abs(one - other) <= max(one, other) * Decimal("1e-9")


def _largest(*amounts: Decimal | int | None) -> Decimal | None:
    known = [Decimal(amount) for amount in amounts if amount is not None]
    return max(known, default=None)


def _text(amount: Decimal | int | None, unit: str = "") -> str:
    return "unknown" if amount is None else amount_text(Decimal(amount)) + unit
