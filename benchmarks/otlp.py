"""Spans as OTLP/JSON has them: what the Collector's file exporter writes, one request a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

AttributeValue: TypeAlias = str | bool | int | float | Sequence[str]

CLIENT: Final = 3
INTERNAL: Final = 1
ERROR: Final = 2


def attributes_of(values: Mapping[str, AttributeValue]) -> list[dict[str, Any]]:
    """Attributes in OTLP/JSON's form: 64-bit integers are text there."""
    return [{"key": key, "value": _any_value(value)} for key, value in values.items()]


def span(
    *,
    trace_id: str,
    span_id: str,
    parent_id: str | None,
    name: str,
    kind: int,
    start: int,
    end: int,
    attributes: Mapping[str, AttributeValue],
    error: str | None = None,
) -> dict[str, Any]:
    """One span; `start` and `end` in nanoseconds since 1970."""
    body: dict[str, Any] = {"traceId": trace_id, "spanId": span_id}
    if parent_id is not None:
        body["parentSpanId"] = parent_id
    body |= {
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": attributes_of(attributes),
        "status": {} if error is None else {"code": ERROR, "message": error},
        "flags": 256,
    }
    return body


def request_line(spans: Sequence[Mapping[str, Any]], *, service: str) -> bytes:
    """One export request with these spans, as a line."""
    resource = {
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
        "service.name": service,
        "service.version": "1.4.2",
        "deployment.environment.name": "production",
    }
    scoped = {
        "scope": {"name": "support-desk", "version": "1.4.2"},
        "spans": spans,
        "schemaUrl": "https://opentelemetry.io/schemas/1.37.0",
    }
    body = {"resourceSpans": [{"resource": {"attributes": attributes_of(resource)}, "scopeSpans": [scoped]}]}
    return orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)


def _any_value(value: AttributeValue) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"arrayValue": {"values": [{"stringValue": item} for item in value]}}
