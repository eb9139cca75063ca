"""Spans of one session as a tree: each once, in order, every chain of parents ending at a root."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from rejudge.otel.conventions.reading import Kind, Reading
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.text import as_text


class Item:
    """One span on its way to a node."""

    __slots__ = (
        "agent", "children", "depth", "elided", "kind", "merged_into", "node_id", "orphan", "parent", "reading",
        "records", "span",
    )  # fmt: skip

    def __init__(self, span: Span) -> None:
        self.span = span
        self.parent: Item | None = None
        self.children: list[Item] = []
        self.depth = 0
        self.orphan = False
        """True where the parent it names was never recorded."""
        self.records: list[LogRecord] = []
        self.reading: Reading
        self.kind: Kind = "span"
        self.elided = False
        """True where it becomes no node of its own."""
        self.merged_into: Item | None = None
        self.agent: Item | None = None
        """The agent that it runs under (for an agent itself: the one above)."""
        self.node_id = ""

    def untie(self) -> None:
        """Let go of all other items: without cycles, they are freed without the garbage collector."""
        self.parent = self.merged_into = self.agent = None
        self.children = []


def distinct(spans: Iterable[Span]) -> dict[tuple[str, str], Span]:
    """Each span once: of repeated ones the one that ends last, then the one that says most."""
    found: dict[tuple[str, str], Span] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        other = found.get(key)
        if other is None or (span is not other and span != other and _weight(span) > _weight(other)):
            found[key] = span
    return found


def _weight(span: Span) -> tuple[int, int, int, bytes]:
    return span.end_ns, len(span.attributes), len(span.events), _text_of(span.attributes)


def _text_of(value: object) -> bytes:
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str)
    except TypeError:
        return as_text(value).encode("utf-8", "replace")


def distinct_records(records: Iterable[LogRecord]) -> list[LogRecord]:
    """Each log record once, by time; equal ones that were sent twice are one."""
    found: dict[tuple[str, str, int, str, bytes], LogRecord] = {}
    for record in records:
        text = _text_of([record.body, record.attributes])
        found[record.trace_id, record.span_id, record.time_ns, record.name, text] = record
    keys = sorted(found, key=lambda key: (key[2], _sequence(found[key]), key[4]))
    return [found[key] for key in keys]


def _sequence(record: LogRecord) -> int:
    for key in ("event.sequence", "gen_ai.message.index", "CHAT_MESSAGE_INDEX"):
        value = record.attributes.get(key)
        if isinstance(value, int):
            return value
    return 0


def plant(spans: dict[tuple[str, str], Span], records: Sequence[LogRecord] = ()) -> list[Item]:
    """The items of some distinct spans: linked, their records beside them, in the order of the session.

    Order is by start, and where two start together by depth, end and name, so that it does not depend on the order
    of arrival.
    """
    items = {key: Item(span) for key, span in spans.items()}
    for (trace_id, span_id), item in items.items():
        parent_id = item.span.parent_id
        if parent_id is not None:
            parent = items.get((trace_id, parent_id))
            if parent is None:
                item.orphan = True
            elif parent_id != span_id:
                item.parent = parent
    for record in records:
        owner = items.get((record.trace_id, record.span_id))
        if owner is not None:
            owner.records.append(record)
    _measure(items.values())
    ordered = sorted(items.values(), key=order_of)
    for item in ordered:
        if item.parent is not None:
            item.parent.children.append(item)
    return ordered


def order_of(item: Item) -> tuple[int, int, int, str, str, str]:
    """What items of a session are sorted by."""
    span = item.span
    return span.start_ns, item.depth, span.end_ns, span.name, span.trace_id, span.span_id


def _measure(items: Iterable[Item]) -> None:
    """Set depths, and cut every cycle of parents at its earliest span."""
    measured: set[int] = set()
    for item in items:
        if item.parent is None:  # most spans lie directly below what is measured: no chain is needed for them
            measured.add(id(item))
            continue
        if id(item.parent) in measured:
            item.depth = item.parent.depth + 1
            measured.add(id(item))
            continue
        chain: list[Item] = []
        on_chain: set[int] = set()
        current: Item | None = item
        while current is not None and id(current) not in measured:
            if id(current) in on_chain:
                cycle = chain[chain.index(current) :]
                first = min(cycle, key=lambda member: (member.span.start_ns, member.span.span_id))
                first.parent = None
                first.orphan = True
                # Start again from the cut: the chain now ends there.
                chain = _unwound(item)
                break
            chain.append(current)
            on_chain.add(id(current))
            current = current.parent
        for member in reversed(chain):
            member.depth = 0 if member.parent is None else member.parent.depth + 1
            measured.add(id(member))


def _unwound(item: Item) -> list[Item]:
    chain: list[Item] = []
    seen: set[int] = set()
    current: Item | None = item
    while current is not None and id(current) not in seen:
        chain.append(current)
        seen.add(id(current))
        current = current.parent
    return chain
