"""MLflow traces: ``Trace.to_json``, ``search_traces``; spans in the form of version 3 and of version 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rejudge.otel.containers.ids import hex_id, optional_hex_id
from rejudge.otel.containers.otlp_json import status_code
from rejudge.otel.containers.times import any_nanoseconds
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, Span, SpanEvent
from rejudge.otel.text import undo_json


def matches(document: Any) -> bool:
    """True for one trace or a list of traces."""
    if isinstance(document, list):
        return bool(document) and matches(document[0])
    if isinstance(document, dict) and isinstance(document.get("traces"), list):
        return matches(document["traces"])
    if not isinstance(document, dict) or not isinstance(document.get("info"), dict):
        return False
    data = undo_json(document.get("data"))
    return isinstance(data, dict) and isinstance(data.get("spans"), list)


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the spans of one document to a batch."""
    if isinstance(document, dict) and isinstance(document.get("traces"), list):
        document = document["traces"]
    for trace in document if isinstance(document, list) else [document]:
        if not matches(trace):
            refuse(Malformed("no MLflow trace"))
            continue
        info = trace["info"]
        for raw in undo_json(trace["data"])["spans"]:
            try:
                batch.spans.append(_span(raw, info))
            except Malformed as error:
                if isinstance(raw, dict):
                    error.span = f"{str(info.get('trace_id'))[:64]}:{str(raw.get('span_id'))[:64]}"
                refuse(error)


def _span(raw: Any, info: dict[str, Any]) -> Span:
    if not isinstance(raw, dict):
        raise Malformed(f"a span that is a {type(raw).__name__}")
    context = raw.get("context")
    context = context if isinstance(context, dict) else raw
    parent = raw.get("parent_span_id", raw.get("parent_id"))
    status = raw.get("status")
    status = (
        status if isinstance(status, dict) else {"code": raw.get("status_code"), "message": raw.get("status_message")}
    )
    attributes: Attributes = dict(raw["attributes"]) if isinstance(raw.get("attributes"), dict) else {}
    attributes.setdefault("mlflow.traceRequestId", info.get("trace_id", info.get("request_id")))
    if parent in (None, ""):
        attributes.update(_of_trace(info))
    events = raw.get("events")
    return Span(
        _trace_id(context.get("trace_id"), info),
        hex_id(context.get("span_id"), 16),
        optional_hex_id(parent, 16),
        str(raw.get("name") or ""),
        any_nanoseconds(raw.get("start_time_unix_nano", raw.get("start_time"))),
        any_nanoseconds(raw.get("end_time_unix_nano", raw.get("end_time"))),
        0,
        status_code(str(status.get("code") or "UNSET").removeprefix("STATUS_CODE_")),
        str(status.get("message") or ""),
        attributes,
        [_event(event) for event in events if isinstance(event, dict)] if isinstance(events, list) else [],
        [],
        {},
        "mlflow.tracing.provider",
        "",
        False,
        "mlflow",
    )


def _trace_id(value: Any, info: dict[str, Any]) -> str:
    """The id of the trace: from the span, or what follows ``tr-`` in the trace's own."""
    try:
        return hex_id(value, 32)
    except Malformed:
        own = str(info.get("trace_id", info.get("request_id", ""))).removeprefix("tr-")
        if not own:
            raise
        return own


def _of_trace(info: dict[str, Any]) -> Attributes:
    """Session and user, which only the trace knows."""
    metadata = info.get("trace_metadata", info.get("request_metadata"))
    metadata = metadata if isinstance(metadata, dict) else {}
    tags = info.get("tags")
    found = {**(tags if isinstance(tags, dict) else {}), **metadata}
    return {key: found[key] for key in ("mlflow.trace.session", "mlflow.trace.user") if found.get(key)}


def _event(raw: dict[str, Any]) -> SpanEvent:
    attributes = raw.get("attributes")
    time = raw.get("time_unix_nano", raw.get("timestamp"))
    return SpanEvent(
        str(raw.get("name") or ""), any_nanoseconds(time), attributes if isinstance(attributes, dict) else {}
    )
