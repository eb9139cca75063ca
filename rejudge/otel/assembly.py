"""From the spans and log records of one session to its `SessionView`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from rejudge.models.recording import Recording
from rejudge.models.session import Node, Session, SessionView
from rejudge.otel.asked import Asked
from rejudge.otel.collecting import CollectingLater
from rejudge.otel.conventions import CONVENTIONS
from rejudge.otel.costs import Bill
from rejudge.otel.digest import Seal, blobs_of
from rejudge.otel.facts import facts_of, messages_after, node_of
from rejudge.otel.failures import Failure, failure_of
from rejudge.otel.grouping import Group
from rejudge.otel.inferred import inferred_tools
from rejudge.otel.options import Options
from rejudge.otel.packing import pack
from rejudge.otel.settling import is_ai, settle
from rejudge.otel.shallow import shallow
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.ties import order_tied_tools
from rejudge.otel.totals import session_facts
from rejudge.otel.tree import Item, distinct, distinct_records, plant

_NODES_AT_ONCE: Final = 256
"""Nodes whose payloads are objects at one time: those of a large session take five times the room of its JSON."""


def assemble_group(group: Group, options: Options) -> Recording | None:
    """The session of one group of traces; None where nothing of an agent is in it."""
    with CollectingLater():
        try:
            return _assemble(group, options)
        except RecursionError:
            return _assemble(shallow(group), options)


def _assemble(group: Group, options: Options) -> Recording | None:
    records = distinct_records(group.records)
    items = _settled(group.spans, records)
    if not any(map(is_ai, items)):
        items = _settled([*group.spans, *_spans_of_records(records)], records) if records else items
        if not any(map(is_ai, items)):
            return None
    # First of all: its text should not lie in memory beside what is read out of the spans.
    packed = pack([item.span for item in items] if group.spans else (), records)
    _name_nodes(items)
    failures = {id(item): failure for item in items if (failure := failure_of(item)) is not None}
    nodes: list[Node] = []
    seal, bill = Seal(), Bill()
    found = _facts_of_nodes(items, failures)
    while told := list(islice(found, _NODES_AT_ONCE)):
        blobs = list(map(blobs_of, told))
        seal.add(told, blobs)
        if options.price:
            bill.add(told)
        nodes += map(node_of, told, blobs)
    counted = [node.__dict__ for node in nodes]
    facts = session_facts(items, counted, failures, records, source=group.source, external_id=group.external_id)
    facts["digest"] = seal.close(facts)
    if options.price:
        bill.close(facts)
    view = SessionView(Session.from_facts(facts), nodes)
    for item in items:
        item.untie()
    return Recording(view, tuple(sorted(group.trace_ids)), packed)


def items_of(group: Group) -> list[Item]:
    """The settled items of a group, in order."""
    return _settled(group.spans, distinct_records(group.records))


def _settled(spans: Iterable[Span], records: list[LogRecord]) -> list[Item]:
    items = plant(distinct(spans), records)
    settle(items)
    order_tied_tools(items)
    return items


def _spans_of_records(records: list[LogRecord]) -> Iterator[Span]:
    """Spans for a session of which only log records were exported."""
    for convention in CONVENTIONS:
        if convention.spans_of_records is not None:
            yield from convention.spans_of_records(records)


def _name_nodes(items: Sequence[Item]) -> None:
    """Node ids: the span id, with the trace id before it where two traces of the session share one."""
    seen: dict[str, int] = {}
    for item in items:
        seen[item.span.span_id] = seen.get(item.span.span_id, 0) + 1
    for item in items:
        span = item.span
        item.node_id = span.span_id if seen[span.span_id] == 1 else f"{span.trace_id}:{span.span_id}"


def _facts_of_nodes(items: list[Item], failures: dict[int, Failure]) -> Iterator[dict[str, Any]]:
    """The facts of every node, payloads included, in the order of the session."""
    found = _facts_of_items(items, failures)
    if not any(item.kind == "tool" and not item.elided for item in items):
        yield from inferred_tools(list(found))
        return
    calls = (item for item in items if item.kind == "llm" and not item.elided)
    asked = Asked(message for call in calls for message in messages_after(call.reading))
    for facts in found:
        if facts["node_type"] == "tool_call":
            asked.restore(facts)
        yield facts


def _facts_of_items(items: list[Item], failures: dict[int, Failure]) -> Iterator[dict[str, Any]]:
    index = 0
    subagents = _subagents(items)
    linked = any(item.span.links for item in items)
    by_key = {(item.span.trace_id, item.span.span_id): item for item in items} if linked else {}
    for item in items:
        if item.elided:
            continue
        facts = facts_of(item, index, failures.get(id(item)), subagent=id(item) in subagents)
        parent = _kept(item.parent)
        if parent is not None:
            facts["parent_id"] = parent.node_id
        elif not item.orphan:
            facts["parent_id"] = None
        if item.span.links:
            facts["link_ids"] = tuple(
                dict.fromkeys(
                    kept.node_id for link in item.span.links if (kept := _kept(by_key.get(link))) is not None
                )
            )
        further = item.reading.extra_calls
        index += 1
        yield facts
        for number, more in enumerate(further or (), start=1):
            yield _extra(item, facts, more, number, index)
            index += 1


def _kept(item: Item | None) -> Item | None:
    """The item itself, or what it was merged into, or the nearest one above, that is a node."""
    while item is not None and item.elided:
        item = item.merged_into or item.parent
    return item


def _extra(item: Item, first: dict[str, Any], reading: Any, number: int, index: int) -> dict[str, Any]:
    """The node of a further tool call that one span reports."""
    original = item.reading
    item.reading = reading
    try:
        failure = failure_of(item)
        facts = facts_of(item, index, failure, subagent=False)
    finally:
        item.reading = original
    return {**facts, "id": f"{item.node_id}:{number}", "parent_id": first["parent_id"]}


def _subagents(items: Iterable[Item]) -> set[int]:
    """The agents that run under another agent, and those that take over from one beside them."""
    found: set[int] = set()
    first_beside: dict[int, str | None] = {}
    for item in items:
        if item.kind != "agent" or item.elided or item.merged_into is not None:
            continue
        if item.agent is not None:
            found.add(id(item))
            continue
        if item.parent is None:
            continue
        name = item.reading.agent_name
        known = first_beside.setdefault(id(item.parent), name)
        if known is not None and name is not None and name != known:
            found.add(id(item))
    return found
