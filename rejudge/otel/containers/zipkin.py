"""Zipkin v2 JSON: https://zipkin.io/zipkin-api/; every tag is text, times are microseconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rejudge.otel.containers.ids import hex_id, optional_hex_id
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, Span, SpanEvent
from rejudge.otel.text import undo_json

_KINDS: Final = {"SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_BOOLEANS: Final = {"true": True, "True": True, "false": False, "False": False}


def matches(document: Any) -> bool:
    """True for a list of spans, or one span alone (as in lines)."""
    raw = document[0] if isinstance(document, list) and document else document
    return isinstance(raw, dict) and "traceId" in raw and "id" in raw and "observations" not in raw


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the spans of one document to a batch."""
    resources: dict[str, Attributes] = {}
    for raw in document if isinstance(document, list) else [document]:
        try:
            batch.spans.append(_span(raw, resources))
        except (Malformed, AttributeError, TypeError, ValueError) as error:
            refused = error if isinstance(error, Malformed) else Malformed(f"no Zipkin span: {error}")
            if isinstance(raw, dict):
                refused.span = f"{str(raw.get('traceId'))[:64]}:{str(raw.get('id'))[:64]}"
            refuse(refused)


def _span(raw: Any, resources: dict[str, Attributes]) -> Span:
    if not isinstance(raw, dict):
        raise Malformed(f"a span that is a {type(raw).__name__}")
    tags = raw.get("tags") or {}
    attributes: Attributes = {key: _BOOLEANS.get(value, value) for key, value in tags.items()}
    endpoint = raw.get("localEndpoint")
    service = str(endpoint.get("serviceName") or "") if isinstance(endpoint, dict) else ""
    resource = resources.setdefault(service, {"service.name": service} if service else {})
    code = attributes.pop("otel.status_code", None)
    failed = attributes.pop("error", None)
    message = attributes.pop("otel.status_description", None) or (failed if isinstance(failed, str) else "")
    start = int(raw.get("timestamp") or 0) * 1000
    trace_id = str(raw.get("traceId") or "")
    return Span(
        hex_id(trace_id.rjust(32, "0") if len(trace_id) == 16 else trace_id, 32),
        hex_id(raw.get("id"), 16),
        optional_hex_id(raw.get("parentId"), 16),
        str(raw.get("name") or ""),
        start,
        start + int(raw.get("duration") or 0) * 1000,
        _KINDS.get(str(raw.get("kind")), 1),
        2 if code == "ERROR" or (failed is not None and code is None) else 1 if code == "OK" else 0,
        str(message) if message and message != "true" else "",
        attributes,
        [event for note in raw.get("annotations") or () if (event := _event(note)) is not None],
        [],
        resource,
        str(attributes.pop("otel.scope.name", attributes.pop("otel.library.name", "")) or ""),
        str(attributes.pop("otel.scope.version", attributes.pop("otel.library.version", "")) or ""),
    )


def _event(note: Any) -> SpanEvent | None:
    """An annotation; OpenTelemetry's exporters write events as ``{"name": {attributes}}`` in its value."""
    if not isinstance(note, dict):
        return None
    time = int(note.get("timestamp") or 0) * 1000
    value = undo_json(note.get("value"))
    if isinstance(value, dict) and len(value) == 1:
        name, attributes = next(iter(value.items()))
        return SpanEvent(name, time, attributes if isinstance(attributes, dict) else {})
    text = str(note.get("value") or "")
    name, colon, rest = text.partition(": {")
    attributes = undo_json("{" + rest) if colon else None
    return SpanEvent(name, time, attributes) if isinstance(attributes, dict) else SpanEvent(text, time, {})
