"""OTLP as protobuf: one request, several behind each other, or length-delimited as the Collector writes them."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from rejudge.otel.containers import wire
from rejudge.otel.containers.ids import hex_id, optional_hex_id
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, LogRecord, Span, SpanEvent, SpanLink
from rejudge.otel.text import clean_text

Refuse = Callable[[Malformed], None]


def decode_request(body: bytes, batch: Batch, refuse: Refuse, *, kind: wire.Kind | None = None) -> None:
    """Append what one export request holds to a batch.

    Args:
        body: The bytes of one request, or of several simply written behind each other.
        batch: Where spans and log records go.
        refuse: Told of every span or record that could not be read.
        kind: ``traces``, ``logs`` or ``metrics`` where it is known; else it is told from the bytes.
    """
    kind = kind or wire.kind_of(body)
    if kind == "metrics":
        return
    try:
        if kind == "logs":
            decode_logs(ExportLogsServiceRequest.FromString(body).resource_logs, batch, refuse)
        else:
            decode_traces(ExportTraceServiceRequest.FromString(body).resource_spans, batch, refuse)
    except DecodeError:
        _salvage(body, kind or "traces", batch, refuse)


def decode_traces(resources: Any, batch: Batch, refuse: Refuse) -> None:
    """Append the spans of parsed ``ResourceSpans`` messages."""
    append = batch.spans.append
    for resource_spans in resources:
        resource = attributes_of(resource_spans.resource.attributes)
        for scope_spans in resource_spans.scope_spans:
            scope = scope_spans.scope
            name, version = clean_text(scope.name), clean_text(scope.version)
            for raw in scope_spans.spans:
                try:
                    append(decode_span(raw, resource, name, version))
                except Malformed as error:
                    refuse(error)


def decode_logs(resources: Any, batch: Batch, refuse: Refuse) -> None:
    """Append the records of parsed ``ResourceLogs`` messages."""
    for resource_logs in resources:
        resource = attributes_of(resource_logs.resource.attributes)
        for scope_logs in resource_logs.scope_logs:
            name = clean_text(scope_logs.scope.name)
            for raw in scope_logs.log_records:
                try:
                    batch.logs.append(decode_log(raw, resource, name))
                except Malformed as error:
                    refuse(error)


def decode_span(raw: Any, resource: Attributes, scope: str, scope_version: str) -> Span:
    """One parsed span message.

    Raises:
        Malformed: For ids of a wrong length.
    """
    try:
        status = raw.status
        return Span(
            hex_id(raw.trace_id, 32),
            hex_id(raw.span_id, 16),
            optional_hex_id(raw.parent_span_id, 16),
            clean_text(raw.name),
            raw.start_time_unix_nano,
            raw.end_time_unix_nano,
            raw.kind,
            status.code,
            clean_text(status.message),
            attributes_of(raw.attributes),
            [
                SpanEvent(clean_text(event.name), event.time_unix_nano, attributes_of(event.attributes))
                for event in raw.events
            ],
            [
                SpanLink(link.trace_id.hex(), link.span_id.hex())
                for link in raw.links
                if len(link.trace_id) == 16 and len(link.span_id) == 8
            ],
            resource,
            scope,
            scope_version,
            bool(raw.dropped_attributes_count or raw.dropped_events_count),
        )
    except Malformed as error:
        error.span = f"{raw.trace_id.hex()[:64]}:{raw.span_id.hex()[:64]}"
        raise


def decode_log(raw: Any, resource: Attributes, scope: str) -> LogRecord:
    """One parsed log record message.

    Raises:
        Malformed: For ids of a wrong length.
    """
    try:
        return LogRecord(
            optional_hex_id(raw.trace_id, 32) or "" if any(raw.trace_id) else "",
            optional_hex_id(raw.span_id, 16) or "" if any(raw.span_id) else "",
            clean_text(raw.event_name),
            raw.time_unix_nano or raw.observed_time_unix_nano,
            any_value(raw.body),
            attributes_of(raw.attributes),
            resource,
            scope,
            raw.severity_number,
        )
    except Malformed as error:
        error.span = f"{raw.trace_id.hex()[:64]}:{raw.span_id.hex()[:64]}"
        raise


def attributes_of(items: Any) -> Attributes:
    """A repeated ``KeyValue`` as a dict; of a name that comes twice the last value stays."""
    found: Attributes = {}
    for item in items:
        value = item.value
        member = value.WhichOneof("value")
        if member == "string_value":
            text = value.string_value
            found[item.key] = text.replace("\0", "\ufffd") if "\0" in text else text
        else:
            found[item.key] = any_value(value, member)
    return found


def any_value(value: AnyValue, member: str | None = None) -> Any:
    """The plain value of an ``AnyValue`` message; None for one without a member; bytes become base64 text."""
    member = member or value.WhichOneof("value")
    if member is None:
        return None
    content = getattr(value, member)
    if member == "string_value":
        return clean_text(content)
    if member == "array_value":
        return [any_value(item) for item in content.values]
    if member == "kvlist_value":
        return attributes_of(content.values)
    if member == "bytes_value":
        return base64.b64encode(content).decode()
    if member == "double_value":
        return content if content - content == 0 else str(content)
    return content


def _salvage(body: bytes, kind: str, batch: Batch, refuse: Refuse) -> None:
    """Read record by record what could not be read as a whole: a cut body, bad UTF-8, nesting past the limit."""
    message: Any = logs_pb2.LogRecord if kind == "logs" else trace_pb2.Span
    for record in wire.records(body, refuse):
        try:
            raw = message.FromString(record.content)
        except DecodeError as error:
            refuse(Malformed(f"not readable as protobuf at byte {record.offset}: {error}"))
            continue
        resource = attributes_of(wire.resource_attributes(record.resource))
        name, version = wire.scope_of(record.scope)
        try:
            if kind == "logs":
                batch.logs.append(decode_log(raw, resource, name))
            else:
                batch.spans.append(decode_span(raw, resource, name, version))
        except Malformed as error:
            refuse(error)
