"""Jaeger's JSON: what its UI and API give out, and the flat documents of its Elasticsearch storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rejudge.otel.containers.ids import hex_id
from rejudge.otel.containers.otlp_json import status_code
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, Span, SpanEvent, SpanLink

_KINDS: Final = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}


def matches(document: Any) -> bool:
    """True for ``{"data": [trace]}``, one trace, a list of traces, or one flat span."""
    return bool(_traces(document)) or _is_span(document)


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the spans of one document to a batch."""
    if _is_span(document):
        _decode_trace({"spans": [document]}, batch, refuse)
    for trace in _traces(document):
        _decode_trace(trace, batch, refuse)


def _decode_trace(trace: dict[str, Any], batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    processes = trace.get("processes")
    resources = {
        name: _resource(process) for name, process in (processes.items() if isinstance(processes, dict) else ())
    }
    for raw in trace["spans"]:
        try:
            if not isinstance(raw, dict):
                raise Malformed(f"a span that is a {type(raw).__name__}")
            process = raw.get("process")
            resource = (
                _resource(process) if isinstance(process, dict) else resources.get(str(raw.get("processID")), {})
            )
            batch.spans.append(_span(raw, resource))
        except (Malformed, AttributeError, TypeError, ValueError) as error:
            refused = error if isinstance(error, Malformed) else Malformed(f"no Jaeger span: {error}")
            if isinstance(raw, dict):
                refused.span = f"{str(raw.get('traceID'))[:64]}:{str(raw.get('spanID'))[:64]}"
            refuse(refused)


def _is_span(raw: Any) -> bool:
    return isinstance(raw, dict) and "traceID" in raw and "spanID" in raw


def _traces(document: Any) -> list[dict[str, Any]]:
    if isinstance(document, dict):
        if _is_trace(document):
            return [document]
        document = document.get("data")
    if isinstance(document, list) and document and _is_trace(document[0]):
        return [trace for trace in document if _is_trace(trace)]
    return []


def _is_trace(raw: Any) -> bool:
    if not isinstance(raw, dict) or not isinstance(raw.get("spans"), list):
        return False
    return "traceID" in raw or "processes" in raw or any(map(_is_span, raw["spans"][:1]))


def _span(raw: dict[str, Any], resource: Attributes) -> Span:
    attributes = _tags(raw.get("tags"))
    start = int(raw.get("startTime") or 0) * 1000
    trace_id = _wide(raw.get("traceID"))
    parent, links = _references(raw, trace_id)
    code = attributes.pop("otel.status_code", None)
    failed = attributes.pop("error", None)
    said = status_code(code) if code is not None else 2 if failed in (True, "true") else 0
    kind = attributes.pop("span.kind", None)
    scope = attributes.pop("otel.scope.name", attributes.pop("otel.library.name", ""))
    return Span(
        hex_id(trace_id, 32),
        hex_id(_padded(raw.get("spanID"), 16), 16),
        parent,
        str(raw.get("operationName") or ""),
        start,
        start + int(raw.get("duration") or 0) * 1000,
        _KINDS.get(str(kind), 1),
        said,
        str(attributes.pop("otel.status_description", "") or ""),
        attributes,
        [_event(log) for log in raw.get("logs") or () if isinstance(log, dict)],
        links,
        resource,
        str(scope or ""),
        str(attributes.pop("otel.scope.version", attributes.pop("otel.library.version", "")) or ""),
    )


def _references(raw: dict[str, Any], trace_id: str) -> tuple[str | None, list[SpanLink]]:
    """The parent is the first CHILD_OF in the same trace; all others are links."""
    parent = None
    links = []
    for reference in raw.get("references") or ():
        if not isinstance(reference, dict):
            continue
        try:
            target = hex_id(_padded(reference.get("spanID"), 16), 16)
            trace = hex_id(_wide(reference.get("traceID")), 32)
        except Malformed:
            continue
        if parent is None and reference.get("refType") == "CHILD_OF" and trace == trace_id:
            parent = target
        else:
            links.append(SpanLink(trace, target))
    if parent is None and raw.get("parentSpanID"):
        parent = hex_id(_padded(raw["parentSpanID"], 16), 16)
    return parent, links


def _resource(process: Any) -> Attributes:
    if not isinstance(process, dict):
        return {}
    return {**_tags(process.get("tags")), "service.name": process.get("serviceName")}


def _tags(tags: Any) -> Attributes:
    if isinstance(tags, dict):
        return dict(tags)
    found: Attributes = {}
    for tag in tags if isinstance(tags, list) else []:
        if isinstance(tag, dict) and isinstance(tag.get("key"), str):
            value = tag.get("value")
            found[tag["key"]] = int(value) if tag.get("type") == "int64" and isinstance(value, str) else value
    return found


def _event(log: dict[str, Any]) -> SpanEvent:
    fields = _tags(log.get("fields"))
    name = fields.pop("event", fields.pop("message", ""))
    return SpanEvent(str(name), int(log.get("timestamp") or 0) * 1000, fields)


def _wide(value: Any) -> str:
    return _padded(value, 32)


def _padded(value: Any, width: int) -> str:
    """Jaeger leaves leading zeros out."""
    text = str(value or "")
    return text.rjust(width, "0") if 0 < len(text) < width and len(text) >= width // 2 - 2 else text
