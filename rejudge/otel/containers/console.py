"""What ``ConsoleSpanExporter`` prints and ``ReadableSpan.to_json`` gives: one object per span, flat attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rejudge.otel.containers.ids import hex_id, optional_hex_id
from rejudge.otel.containers.otlp_json import status_code
from rejudge.otel.containers.times import any_nanoseconds
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Batch, LogRecord, Span, SpanEvent, SpanLink

_KINDS: Final = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}


def matches(document: Any) -> bool:
    """True for one span or log record, or a list of them."""
    if isinstance(document, list):
        return bool(document) and matches(document[0])
    return isinstance(document, dict) and (_is_span(document) or _is_record(document))


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the spans and records of one document to a batch."""
    for raw in document if isinstance(document, list) else [document]:
        try:
            if _is_span(raw):
                batch.spans.append(_span(raw))
            elif _is_record(raw):
                batch.logs.append(_record(raw))
            else:
                raise Malformed("neither a printed span nor a printed log record")
        except Malformed as error:
            context = raw.get("context") if isinstance(raw, dict) else None
            if isinstance(context, dict):
                error.span = f"{str(context.get('trace_id'))[:64]}:{str(context.get('span_id'))[:64]}"
            refuse(error)


def _is_span(raw: Any) -> bool:
    if not isinstance(raw, dict) or "start_time" not in raw:
        return False
    context = raw.get("context")
    return isinstance(context, dict) and str(context.get("trace_id", "")).startswith("0x")


def _is_record(raw: Any) -> bool:
    return isinstance(raw, dict) and "severity_number" in raw and "observed_timestamp" in raw


def _span(raw: dict[str, Any]) -> Span:
    context = raw["context"]
    status = raw.get("status")
    status = status if isinstance(status, dict) else {}
    scope = raw.get("instrumentation_scope")
    scope = scope if isinstance(scope, dict) else {}
    return Span(
        hex_id(context.get("trace_id"), 32),
        hex_id(context.get("span_id"), 16),
        optional_hex_id(raw.get("parent_id"), 16),
        str(raw.get("name") or ""),
        any_nanoseconds(raw.get("start_time")),
        any_nanoseconds(raw.get("end_time")),
        _KINDS.get(str(raw.get("kind", "")).removeprefix("SpanKind."), 0),
        status_code(status.get("status_code", "UNSET")),
        str(status.get("description") or ""),
        _dict(raw.get("attributes")),
        [
            SpanEvent(
                str(event.get("name", "")), any_nanoseconds(event.get("timestamp")), _dict(event.get("attributes"))
            )
            for event in raw.get("events") or ()
            if isinstance(event, dict)
        ],
        _links(raw.get("links")),
        _resource(raw),
        str(scope.get("name") or ""),
        str(scope.get("version") or ""),
    )


def _event(raw: dict[str, Any]) -> SpanEvent:
    time = any_nanoseconds(raw.get("timestamp"))
    return SpanEvent(str(raw.get("name") or ""), time, _dict(raw.get("attributes")))


def _record(raw: dict[str, Any]) -> LogRecord:
    severity = raw.get("severity_number")
    return LogRecord(
        optional_hex_id(raw.get("trace_id"), 32) or "",
        optional_hex_id(raw.get("span_id"), 16) or "",
        str(raw.get("event_name") or ""),
        any_nanoseconds(raw.get("timestamp") or raw.get("observed_timestamp")),
        raw.get("body"),
        _dict(raw.get("attributes")),
        _resource(raw),
        "",
        severity if isinstance(severity, int) else 0,
    )


def _resource(raw: dict[str, Any]) -> dict[str, Any]:
    resource = raw.get("resource")
    return _dict(resource.get("attributes")) if isinstance(resource, dict) else {}


def _links(raws: Any) -> list[SpanLink]:
    found = []
    for raw in raws if isinstance(raws, list) else []:
        context = raw.get("context") if isinstance(raw, dict) else None
        if isinstance(context, dict):
            try:
                found.append(SpanLink(hex_id(context.get("trace_id"), 32), hex_id(context.get("span_id"), 16)))
            except Malformed:
                continue
    return found


def _dict(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
