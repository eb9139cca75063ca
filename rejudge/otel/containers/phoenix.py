"""Arize Phoenix: ``…/spans`` (flat OpenInference), ``…/spans/otlpv1`` (OTLP in snake_case), dataframe rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rejudge.otel.containers.ids import hex_id, optional_hex_id
from rejudge.otel.containers.otlp_json import decode_span, status_code
from rejudge.otel.containers.times import any_nanoseconds
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, Span, SpanEvent


def matches(document: Any) -> bool:
    """True for an answer of the API, a list of its spans, or one span."""
    items = _items(document)
    return (
        bool(items)
        and isinstance(items[0], dict)
        and (_is_plain(items[0]) or _is_otlp(items[0]) or _is_row(items[0]))
    )


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the spans of one document to a batch."""
    for raw in _items(document):
        try:
            if not isinstance(raw, dict):
                raise Malformed(f"a span that is a {type(raw).__name__}")
            if _is_row(raw):
                raw = _unrolled(raw)
            batch.spans.append(_plain(raw) if _is_plain(raw) else decode_span(raw, {}, "", "", "phoenix"))
        except Malformed as error:
            context = raw.get("context") if isinstance(raw, dict) else None
            if isinstance(context, dict):
                error.span = f"{str(context.get('trace_id'))[:64]}:{str(context.get('span_id'))[:64]}"
            refuse(error)


def _items(document: Any) -> list[Any]:
    if isinstance(document, dict):
        data = document.get("data")
        return data if isinstance(data, list) else [document]
    return document if isinstance(document, list) else []


def _is_plain(raw: Any) -> bool:
    if not isinstance(raw, dict):
        return False
    context = raw.get("context")
    return "span_kind" in raw and isinstance(context, dict) and "trace_id" in context


def _is_otlp(raw: dict[str, Any]) -> bool:
    return "trace_id" in raw and "span_id" in raw and "start_time_unix_nano" in raw


def _is_row(raw: dict[str, Any]) -> bool:
    return "context.trace_id" in raw and "context.span_id" in raw


def _unrolled(row: dict[str, Any]) -> dict[str, Any]:
    """A row of Phoenix' span dataframe as a span of its API."""
    attributes = {
        key.removeprefix("attributes."): value
        for key, value in row.items()
        if key.startswith("attributes.") and value is not None
    }
    context = {"trace_id": row["context.trace_id"], "span_id": row["context.span_id"]}
    return {"span_kind": "UNKNOWN", **row, "context": context, "attributes": attributes}


def _plain(raw: dict[str, Any]) -> Span:
    context = raw["context"]
    attributes: Attributes = {}
    _flatten(raw.get("attributes"), "", attributes)
    attributes.setdefault("openinference.span.kind", str(raw.get("span_kind") or "UNKNOWN"))
    events = raw.get("events")
    return Span(
        hex_id(context.get("trace_id"), 32),
        hex_id(context.get("span_id"), 16),
        optional_hex_id(raw.get("parent_id"), 16),
        str(raw.get("name") or ""),
        any_nanoseconds(raw.get("start_time")),
        any_nanoseconds(raw.get("end_time")),
        0,
        status_code(raw.get("status_code")),
        str(raw.get("status_message") or ""),
        attributes,
        [_event(event) for event in events if isinstance(event, dict)] if isinstance(events, list) else [],
        [],
        {},
        "",
        "",
        False,
        "phoenix",
    )


def _event(raw: dict[str, Any]) -> SpanEvent:
    attributes = raw.get("attributes")
    return SpanEvent(
        str(raw.get("name") or ""),
        any_nanoseconds(raw.get("timestamp")),
        attributes if isinstance(attributes, dict) else {},
    )


_WHOLE = frozenset({"metadata", "llm.invocation_parameters", "tool.parameters", "input.value", "output.value"})
"""Attributes whose value stays as it is."""


def _flatten(value: Any, prefix: str, into: Attributes) -> None:
    """Some versions nest what OpenInference writes flat; lists of plain values stay lists."""
    if isinstance(value, dict) and prefix not in _WHOLE and (value or not prefix):
        for key, item in value.items():
            _flatten(item, f"{prefix}.{key}" if prefix else str(key), into)
    elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value) and prefix not in _WHOLE:
        for number, item in enumerate(value):
            _flatten(item, f"{prefix}.{number}", into)
    elif prefix:
        into[prefix] = value
