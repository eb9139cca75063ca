"""The span processor that hands the spans of this very process to the assembly, as they end.

Spans come out normalised, as if they had been exported and read again: live, imported and replayed runs take the
same way from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.sdk._logs import LogRecordProcessor, ReadWriteLogRecord
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id

from rejudge.otel.span import Attributes, LogRecord, Span, SpanEvent, SpanLink

_KINDS: Final = {kind: number for number, kind in enumerate(SpanKind, start=1)}
_STATUS: Final = {StatusCode.UNSET: 0, StatusCode.OK: 1, StatusCode.ERROR: 2}


class SpanHandOver(SpanProcessor):
    """Calls back with every span that ends, and, if asked, with every span that starts.

    A callback that raises costs its span and nothing else: the agent never sees it.

    Args:
        ended: Gets each ended span.
        started: Gets each started span, unfinished (``end_ns`` 0), and the context it was started in.
    """

    def __init__(
        self, ended: Callable[[Span], None], *, started: Callable[[Span, Context | None], None] | None = None
    ) -> None:
        self._ended = ended
        self._started = started

    def on_start(self, span: SdkSpan, parent_context: Context | None = None) -> None:
        """See `opentelemetry.sdk.trace.SpanProcessor`."""
        if self._started is not None:
            with suppress(Exception):  # recording never breaks the agent
                self._started(span_of(span), parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """See `opentelemetry.sdk.trace.SpanProcessor`."""
        with suppress(Exception):  # recording never breaks the agent
            self._ended(span_of(span))


class LogHandOver(LogRecordProcessor):
    """Calls back with every log record that is emitted: some instrumentations put content there."""

    def __init__(self, emitted: Callable[[LogRecord], None]) -> None:
        self._emitted = emitted

    def on_emit(self, log_record: ReadWriteLogRecord) -> None:
        """See `opentelemetry.sdk._logs.LogRecordProcessor`."""
        with suppress(Exception):  # recording never breaks the agent
            self._emitted(log_of(log_record))

    def shutdown(self) -> None:
        """Nothing is held back."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing is held back."""
        return True


def span_of(span: ReadableSpan) -> Span:
    """The normalised span of an SDK span, ended or not."""
    context = span.context
    parent = span.parent
    scope = span.instrumentation_scope
    return Span(
        trace_id=format_trace_id(context.trace_id),
        span_id=format_span_id(context.span_id),
        parent_id=format_span_id(parent.span_id) if parent is not None else None,
        name=span.name,
        start_ns=span.start_time or 0,
        end_ns=span.end_time or 0,
        kind=_KINDS.get(span.kind, 1),
        status_code=_STATUS.get(span.status.status_code, 0),
        status_message=span.status.description or "",
        attributes=_plain(span.attributes),
        events=[SpanEvent(event.name, event.timestamp, _plain(event.attributes)) for event in span.events],
        links=[
            SpanLink(format_trace_id(link.context.trace_id), format_span_id(link.context.span_id))
            for link in span.links
        ],
        resource=_plain(span.resource.attributes),
        scope=scope.name if scope is not None else "",
        scope_version=(scope.version or "") if scope is not None else "",
        truncated=bool(span.dropped_attributes or span.dropped_events),
    )


def log_of(record: ReadWriteLogRecord) -> LogRecord:
    """The normalised log record of an SDK one."""
    said = record.log_record
    severity = said.severity_number
    return LogRecord(
        trace_id=format_trace_id(said.trace_id) if said.trace_id else "",
        span_id=format_span_id(said.span_id) if said.span_id else "",
        name=said.event_name or "",
        time_ns=said.timestamp or said.observed_timestamp or 0,
        body=_value(said.body),
        attributes=_plain(said.attributes),
        resource=_plain(record.resource.attributes) if record.resource is not None else {},
        scope=record.instrumentation_scope.name if record.instrumentation_scope is not None else "",
        severity=severity.value if severity is not None else 0,
    )


def _plain(attributes: Mapping[str, Any] | None) -> Attributes:
    return {name: _value(value) for name, value in attributes.items()} if attributes else {}


def _value(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_value(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _value(item) for name, item in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value
