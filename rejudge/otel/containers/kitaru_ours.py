"""Kitaru records that we wrote ourselves: every fact is read back as it was, those Kitaru has no field for too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Final, get_args

from rejudge.models.session import CostStatus, Node, NodeType, Session, SessionView, Status
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Batch

OURS: Final = "rejudge"
"""Key in the metadata of sessions and nodes under which stands what Kitaru has no field for."""

Fits = Callable[[Any], Any]


def is_ours(document: Mapping[str, Any]) -> bool:
    """True for a session that `rejudge session export` wrote."""
    metadata = document.get("metadata")
    return isinstance(metadata, dict) and isinstance(metadata.get(OURS), dict)


def decode_ours(document: Mapping[str, Any], batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Appends the spans of a session that we wrote: those of its OTLP export.

    Raises:
        Malformed: For a field of a wrong type, with its name.
    """
    from rejudge.otel.containers import otlp_json
    from rejudge.otel.export.traces import traces_of

    view = view_of_record(document)
    found = Batch()
    otlp_json.decode(traces_of(view), found, refuse)
    for span in found.spans:
        if view.session.source and not view.session.source.startswith("otel:"):
            span.source = view.session.source
    batch.spans += found.spans


def view_of_record(document: Mapping[str, Any]) -> SessionView:
    """The session of a record that we wrote.

    Raises:
        Malformed: For a field of a wrong type, with its name.
    """
    metadata = dict(document["metadata"])
    extras = metadata.pop(OURS)
    facts = {name: _read(document, name, fits) for name, fits in _SESSION.items()}
    facts |= {name: _read(extras, name, fits) for name, fits in _SESSION_EXTRAS.items() if name in extras}
    session = Session(**_given(facts), metadata=metadata or None)
    records = [one for one in document["nodes"] if isinstance(one, dict)]
    names = {one.get("index"): one.get("external_id") for one in records if isinstance(one.get("index"), int)}
    return SessionView(session, [_node(one, number, names) for number, one in enumerate(records)])


def _node(record: Mapping[str, Any], number: int, names: Mapping[Any, Any]) -> Node:
    facts = {field: _read(record, name, fits) for name, (field, fits) in _NODE.items()}
    tokens = record.get("tokens")
    if isinstance(tokens, dict):
        facts |= {name: _read(tokens, name, _count) for name in _TOKENS}
    metadata = record.get("metadata")
    extras = metadata.get(OURS, {}) if isinstance(metadata, dict) else {}
    if isinstance(extras, dict):
        facts |= {name: _read(extras, name, fits) for name, fits in _NODE_EXTRAS.items() if name in extras}
    parent = record.get("parent_index")
    if parent is not None:
        facts["parent_id"] = _text(names.get(parent)) if isinstance(parent, int) else None
    links = record.get("links")
    facts["link_ids"] = tuple(
        one["external_id"]
        for one in (links if isinstance(links, list) else ())
        if isinstance(one, dict) and isinstance(one.get("external_id"), str)
    )
    return Node(index=number, **_given(facts))


def _given(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _read(record: Mapping[str, Any], name: str, fits: Fits) -> Any:
    value = record.get(name)
    if value is None:
        return None
    try:
        return fits(value)
    except (ValueError, TypeError, ArithmeticError, InvalidOperation) as error:
        raise Malformed(f"{name} is {str(value)[:64]!r}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("not a whole number")
    return value


def _flag(value: Any) -> bool:
    return value is True


def _time(value: Any) -> datetime:
    return datetime.fromisoformat(_text(value)).astimezone(UTC)


def _money(value: Any) -> Decimal:
    return Decimal(str(value))


def _same(value: Any) -> Any:
    return value


def _one_of(kind: Any) -> Fits:
    allowed = get_args(kind)

    def fits(value: Any) -> Any:
        if value not in allowed:
            raise ValueError(f"not one of {', '.join(allowed)}")
        return value

    return fits


_SESSION: Final[dict[str, Fits]] = {
    "status": _one_of(Status),
    "name": _text,
    "inputs": _same,
    "outputs": _same,
    "error": _text,
    "started_at": _time,
    "ended_at": _time,
    "external_id": _text,
    "framework": _text,
}
_SESSION_EXTRAS: Final[dict[str, Fits]] = {
    "source": _text,
    "user_id": _text,
    "agent": _text,
    "status": _one_of(Status),
}
_NODE: Final[dict[str, tuple[str, Fits]]] = {
    "external_id": ("id", _text),
    "trace_id": ("trace_id", _text),
    "node_type": ("node_type", _one_of(NodeType)),
    "name": ("name", _text),
    "status": ("status", _one_of(Status)),
    "error": ("error", _text),
    "started_at": ("started_at", _time),
    "ended_at": ("ended_at", _time),
    "inputs": ("inputs", _same),
    "outputs": ("outputs", _same),
    "requested_model": ("requested_model", _text),
    "model": ("model", _text),
    "model_provider": ("provider", _text),
    "cost": ("cost", _money),
    "tool_name": ("tool_name", _text),
    "attributes": ("attributes", _same),
}
_TOKENS: Final = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")
_NODE_EXTRAS: Final[dict[str, Fits]] = {
    "agent_name": _text,
    "tool_call_id": _text,
    "response_id": _text,
    "finish_reason": _text,
    "cache_write_tokens": _count,
    "cost_status": _one_of(CostStatus),
    "error_type": _text,
    "inferred": _flag,
    "incomplete": _text,
    "parent_id": _text,
    "status": _one_of(Status),
}
