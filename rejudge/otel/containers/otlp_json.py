"""OTLP as JSON, and its relatives: the Collector's files, protobuf-JSON, Tempo, Phoenix' ``otlpv1``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from rejudge.otel.containers.ids import hex_id, optional_hex_id
from rejudge.otel.containers.times import nanoseconds
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, LogRecord, Span, SpanEvent, SpanLink
from rejudge.otel.text import MAX_DEPTH, as_text

Refuse = Callable[[Malformed], None]

_TOP: Final = ("resourceSpans", "resourceLogs", "resourceMetrics", "resource_spans", "resource_logs")


def matches(document: Any) -> bool:
    """True for an export request, one resource of it, or what Tempo answers."""
    if not isinstance(document, dict):
        return False
    if any(key in document for key in _TOP):
        return True
    if "scopeSpans" in document or "scopeLogs" in document or "instrumentationLibrarySpans" in document:
        return True
    batches = document.get("batches")
    if isinstance(batches, list):
        return not batches or isinstance(batches[0], dict)
    trace = document.get("trace")
    return isinstance(trace, dict) and matches(trace)


def decode(document: Any, batch: Batch, refuse: Refuse) -> None:
    """Append the spans and log records of one document to a batch."""
    if isinstance(document.get("trace"), dict):
        document = document["trace"]
    for resource_spans in _dicts(document, "resourceSpans", "resource_spans", "batches"):
        _decode_resource_spans(resource_spans, batch, refuse)
    for resource_logs in _dicts(document, "resourceLogs", "resource_logs"):
        _decode_resource_logs(resource_logs, batch, refuse)
    if "scopeSpans" in document or "instrumentationLibrarySpans" in document:
        _decode_resource_spans(document, batch, refuse)
    if "scopeLogs" in document:
        _decode_resource_logs(document, batch, refuse)


def attributes_of(items: Any, depth: int = 0) -> Attributes:
    """An OTLP attribute list as a dict; of a name that comes twice the last value stays."""
    found: Attributes = {}
    if not isinstance(items, list):
        return dict(items) if isinstance(items, dict) else found
    for item in items:
        try:
            key, value = item["key"], item["value"]
            text = value.get("stringValue")
        except (KeyError, TypeError, AttributeError):
            if not isinstance(item, dict) or not isinstance(key := item.get("key"), str):
                continue
            found[key] = None
        else:
            if type(key) is str:
                found[key] = text if type(text) is str else any_value(value, depth)
    return found


def any_value(value: Any, depth: int = 0) -> Any:
    """The plain value of an OTLP ``AnyValue``: of several members the one that is not null."""
    if not isinstance(value, dict):
        return value
    for member, content in value.items():
        if content is None:
            continue
        decode_member = _MEMBERS.get(member)
        if decode_member is not None:
            return decode_member(content)
        decode_members = _NESTED.get(member)
        if decode_members is not None:
            return decode_members(content, depth + 1) if depth < MAX_DEPTH else as_text(content)
    return None


def _integer(content: Any) -> Any:
    if isinstance(content, str):
        try:
            number = int(content)
        except ValueError:
            return content
        return number if -(2**63) <= number < 2**63 else content
    if isinstance(content, dict):
        return nanoseconds(content)
    return content


def _double(content: Any) -> Any:
    if isinstance(content, str):
        try:
            number = float(content)
        except ValueError:
            return content
        return number if number - number == 0 else content
    return content


def _list(content: Any, depth: int) -> Any:
    values = content.get("values") if isinstance(content, dict) else content
    return [any_value(value, depth) for value in values] if isinstance(values, list) else []


def _map(content: Any, depth: int) -> Any:
    return attributes_of(content.get("values") if isinstance(content, dict) else content, depth)


def _same(content: Any) -> Any:
    return content


_MEMBERS: Final[dict[str, Callable[[Any], Any]]] = {
    "stringValue": _same,
    "intValue": _integer,
    "boolValue": _same,
    "doubleValue": _double,
    "bytesValue": _same,
    "string_value": _same,
    "int_value": _integer,
    "bool_value": _same,
    "double_value": _double,
    "bytes_value": _same,
}

_NESTED: Final[dict[str, Callable[[Any, int], Any]]] = {
    "arrayValue": _list,
    "kvlistValue": _map,
    "array_value": _list,
    "kvlist_value": _map,
}

_KINDS: Final[dict[Any, int]] = {
    "SPAN_KIND_UNSPECIFIED": 0,
    "SPAN_KIND_INTERNAL": 1,
    "SPAN_KIND_SERVER": 2,
    "SPAN_KIND_CLIENT": 3,
    "SPAN_KIND_PRODUCER": 4,
    "SPAN_KIND_CONSUMER": 5,
}
_CODES: Final[dict[Any, int]] = {
    0: 0,
    1: 1,
    2: 2,
    "STATUS_CODE_UNSET": 0,
    "STATUS_CODE_OK": 1,
    "STATUS_CODE_ERROR": 2,
    "UNSET": 0,
    "OK": 1,
    "ERROR": 2,
    "0": 0,
    "1": 1,
    "2": 2,
}


def status_code(value: Any) -> int:
    """0, 1 or 2 from a number or a name."""
    try:
        return _CODES.get(value, 0)
    except TypeError:
        return 0


def span_kind(value: Any) -> int:
    """0 to 5 from a number or a name."""
    if isinstance(value, int):
        return value
    try:
        return _KINDS.get(value, 0)
    except TypeError:
        return 0


def decode_span(raw: Any, resource: Attributes, scope: str, scope_version: str, source: str = "otel") -> Span:
    """One OTLP/JSON span.

    Raises:
        Malformed: With the span as far as it could be read.
    """
    if not isinstance(raw, dict):
        raise Malformed(f"a span that is a {type(raw).__name__}")
    if "traceId" not in raw and "trace_id" in raw:
        raw = camel_case(raw)
    get = raw.get
    try:
        trace_id = hex_id(get("traceId"), 32)
        span_id = hex_id(get("spanId"), 16)
        parent_id = optional_hex_id(get("parentSpanId"), 16)
        status = get("status") or {}
        events = get("events")
        links = get("links")
        return Span(
            trace_id,
            span_id,
            parent_id,
            _text(get("name")),
            nanoseconds(get("startTimeUnixNano")),
            nanoseconds(get("endTimeUnixNano")),
            span_kind(get("kind", 0)),
            status_code(status.get("code", 0)) if isinstance(status, dict) else 0,
            _text(status.get("message")) if isinstance(status, dict) else "",
            attributes_of(get("attributes")),
            [_event(event) for event in events if isinstance(event, dict)] if events else [],
            _links(links) if links else [],
            resource,
            scope,
            scope_version,
            bool(get("droppedAttributesCount") or get("droppedEventsCount")),
            source,
        )
    except Malformed as error:
        error.span = f"{str(get('traceId'))[:64]}:{str(get('spanId'))[:64]}"
        raise


def decode_log(raw: Any, resource: Attributes, scope: str, source: str = "otel") -> LogRecord:
    """One OTLP/JSON log record.

    Raises:
        Malformed: With the span it belongs to as far as it could be read.
    """
    if not isinstance(raw, dict):
        raise Malformed(f"a log record that is a {type(raw).__name__}")
    if "time_unix_nano" in raw or "trace_id" in raw:
        raw = camel_case(raw)
    get = raw.get
    try:
        severity = get("severityNumber", 0)
        return LogRecord(
            optional_hex_id(get("traceId"), 32) or "",
            optional_hex_id(get("spanId"), 16) or "",
            _text(get("eventName")),
            nanoseconds(get("timeUnixNano")) or nanoseconds(get("observedTimeUnixNano")),
            any_value(get("body")),
            attributes_of(get("attributes")),
            resource,
            scope,
            severity if isinstance(severity, int) else 0,
            source,
        )
    except Malformed as error:
        error.span = f"{str(get('traceId'))[:64]}:{str(get('spanId'))[:64]}"
        raise


def _decode_resource_spans(resource_spans: dict[str, Any], batch: Batch, refuse: Refuse) -> None:
    resource = _resource(resource_spans)
    append = batch.spans.append
    for scope_spans in _dicts(
        resource_spans, "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans"
    ):
        name, version = _scope(scope_spans)
        for raw in _items(scope_spans, "spans"):
            try:
                append(decode_span(raw, resource, name, version))
            except Malformed as error:
                refuse(error)


def _decode_resource_logs(resource_logs: dict[str, Any], batch: Batch, refuse: Refuse) -> None:
    resource = _resource(resource_logs)
    for scope_logs in _dicts(resource_logs, "scopeLogs", "scope_logs", "instrumentationLibraryLogs"):
        name, _ = _scope(scope_logs)
        for raw in _items(scope_logs, "logRecords", "log_records", "logs"):
            try:
                batch.logs.append(decode_log(raw, resource, name))
            except Malformed as error:
                refuse(error)


def _resource(holder: dict[str, Any]) -> Attributes:
    resource = holder.get("resource")
    return attributes_of(resource.get("attributes")) if isinstance(resource, dict) else {}


def _scope(holder: dict[str, Any]) -> tuple[str, str]:
    scope = holder.get("scope") or holder.get("instrumentationLibrary") or holder.get("instrumentation_library")
    if not isinstance(scope, dict):
        return "", ""
    return _text(scope.get("name")), _text(scope.get("version"))


def _items(holder: dict[str, Any], *names: str) -> list[Any]:
    for name in names:
        items = holder.get(name)
        if isinstance(items, list):
            return items
    return []


def _dicts(holder: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    return [item for item in _items(holder, *names) if isinstance(item, dict)]


def _event(raw: dict[str, Any]) -> SpanEvent:
    time = raw.get("timeUnixNano", raw.get("time_unix_nano"))
    return SpanEvent(_text(raw.get("name")), nanoseconds(time), attributes_of(raw.get("attributes")))


def _links(raws: Any) -> list[SpanLink]:
    found = []
    for raw in raws if isinstance(raws, list) else []:
        try:
            found.append(
                SpanLink(
                    hex_id(raw.get("traceId", raw.get("trace_id")), 32),
                    hex_id(raw.get("spanId", raw.get("span_id")), 16),
                )
            )
        except (Malformed, AttributeError):
            continue  # a link that leads nowhere is no reason to lose its span
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


_UNDERSCORE = re.compile(r"_([a-z])")


def camel_case(raw: dict[str, Any]) -> dict[str, Any]:
    """The same object with its own keys in lowerCamelCase."""
    return {_UNDERSCORE.sub(lambda match: match[1].upper(), key): value for key, value in raw.items()}
