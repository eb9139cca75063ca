"""Which spans and log records make one session: those of one conversation id in one service, else of one trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rejudge.otel.conventions.shape import session_id_of
from rejudge.otel.options import Options
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.text import undo_json


@dataclass(slots=True)
class Group:
    """The spans and records of one session to be."""

    source: str
    external_id: str
    spans: list[Span] = field(default_factory=list)
    records: list[LogRecord] = field(default_factory=list)
    trace_ids: set[str] = field(default_factory=set)
    is_named: bool = False
    """True where the id is the conversation's, so that other traces may belong to it too."""


Keys: TypeAlias = Mapping[str, tuple[str, str]]
"""Source and external id of traces that do not say it themselves."""


def groups_of(
    spans: Iterable[Span], records: Iterable[LogRecord], options: Options, keys: Keys | None = None
) -> list[Group]:
    """The groups of some spans and records, each trace whole in one of them.

    Args:
        spans: Any number of traces, in any order.
        records: Log records; those of no trace go with the session they name.
        options: Whether to join on an attribute.
        keys: Used for traces that name no session.
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        known = traces.get(span.trace_id)
        if known is None:
            traces[span.trace_id] = [span]
        else:
            known.append(span)
    told: dict[str, list[LogRecord]] = defaultdict(list)
    for record in records:
        told[record.trace_id].append(record)
    groups: dict[tuple[str, str], Group] = {}
    for trace_id, members in traces.items():
        source, external_id, named = key_of_trace(members, told.get(trace_id, ()), options)
        if not named and keys and trace_id in keys:
            source, external_id = keys[trace_id]
            named = True
        group = _group(groups, source, external_id)
        group.is_named = named
        group.spans += members
        group.trace_ids.add(trace_id)
        group.records += told.pop(trace_id, ())
    for loose in told.values():
        for record in loose:
            key = key_of_record(record, options)
            if key is not None:
                group = _group(groups, *key)
                group.is_named = True
                group.records.append(record)
                if record.trace_id:
                    group.trace_ids.add(record.trace_id)
    return list(groups.values())


def _group(groups: dict[tuple[str, str], Group], source: str, external_id: str) -> Group:
    key = (source, external_id)
    group = groups.get(key)
    if group is None:
        group = groups[key] = Group(source, external_id)
    return group


def key_of_trace(spans: list[Span], records: Iterable[LogRecord], options: Options) -> tuple[str, str, bool]:
    """Source and external id of the session that a trace belongs to, and whether it names it."""
    bearer, identity = _outermost_id(spans, options)
    if bearer is None:
        root = min(spans, key=_outwardness)
        for record in records:
            found = record_session_id(record, options)
            if found is not None:
                return source_of(root), found, True
        return source_of(root), root.trace_id, False
    return source_of(bearer), identity, True


def key_of_record(record: LogRecord, options: Options) -> tuple[str, str] | None:
    """Source and external id of a record that belongs to no known trace; None where it says neither."""
    identity = record_session_id(record, options)
    if identity is None:
        return None
    return _source(record.source, record.resource), identity


def record_session_id(record: LogRecord, options: Options) -> str | None:
    """The session id of a log record."""
    if options.join_on is not None:
        return _text(record.attributes.get(options.join_on, record.resource.get(options.join_on)))
    for key in ("session.id", "gen_ai.conversation.id", "conversation.id"):
        found = _text(record.attributes.get(key))
        if found is not None:
            return found
    return None


def source_of(span: Span) -> str:
    """``otel:<service name>``, or the product that the span was exported from."""
    return _source(span.source, span.resource)


def _source(source: str, resource: dict[str, Any]) -> str:
    if source != "otel":
        return source
    name = resource.get("service.name")
    return f"otel:{name}" if isinstance(name, str) and name else "otel:unknown"


def _outermost_id(spans: list[Span], options: Options) -> tuple[Span | None, str]:
    for span in spans:
        if span.parent_id is None:
            identity = named_session(span, options)
            if identity is not None:
                return _earliest_root(span, identity, spans, options)
    found = [(span, identity) for span in spans if (identity := named_session(span, options)) is not None]
    if not found:
        return None, ""
    if len(found) == 1:
        return found[0]
    depths = _depths(spans)
    return min(found, key=lambda pair: (depths[pair[0].span_id], pair[0].start_ns, pair[0].span_id))


def _earliest_root(span: Span, identity: str, spans: list[Span], options: Options) -> tuple[Span, str]:
    """Of several roots that carry an id, the one that started first."""
    best, best_identity = span, identity
    for other in spans:
        if other.parent_id is None and other is not span and _outwardness(other) < _outwardness(best):
            found = named_session(other, options)
            if found is not None:
                best, best_identity = other, found
    return best, best_identity


def named_session(span: Span, options: Options) -> str | None:
    """The session id that a span itself carries."""
    if options.join_on is not None:
        return _text(span.attributes.get(options.join_on, span.resource.get(options.join_on)))
    found = session_id_of(span)
    if found is not None:
        return found
    metadata = span.attributes.get("metadata")
    if isinstance(metadata, str) and (
        '"session_id"' in metadata or '"thread_id"' in metadata or "conversation_id" in metadata
    ):
        undone = undo_json(metadata)
        if isinstance(undone, dict):
            for key in _METADATA_KEYS:
                inner = _text(undone.get(key))
                if inner is not None:
                    return inner
    return None


_METADATA_KEYS = ("session_id", "thread_id", "conversation_id")


def _outwardness(span: Span) -> tuple[bool, int, str]:
    return span.parent_id is not None, span.start_ns, span.span_id


def _depths(spans: list[Span]) -> dict[str, int]:
    parents = {span.span_id: span.parent_id for span in spans}
    depths: dict[str, int] = {}
    for start in parents:
        chain: list[str] = []
        current: str | None = start
        on_chain: set[str] = set()
        while current is not None and current in parents and current not in depths and current not in on_chain:
            chain.append(current)
            on_chain.add(current)
            current = parents[current]
        base = depths.get(current, -1) if current is not None else -1
        for member in reversed(chain):
            base += 1
            depths[member] = base
    return depths


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
