"""What the protocol answers: an export response or a ``google.rpc.Status``, in the request's own encoding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import orjson
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.responses import Response

from rejudge.otel.receiver.refused import Refused

Kind: TypeAlias = Literal["traces", "logs", "metrics"]
Form: TypeAlias = Literal["protobuf", "json"]

MEDIA_TYPES: Final[dict[str, Form]] = {
    "application/x-protobuf": "protobuf",
    "application/json": "json",
}
"""What a request's body may be."""

_BY_FORM: Final[dict[Form, str]] = {"protobuf": "application/x-protobuf", "json": "application/json"}
_RESPONSES: Final[dict[Kind, tuple[Any, str, str]]] = {
    "traces": (ExportTraceServiceResponse, "rejected_spans", "rejectedSpans"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records", "rejectedLogRecords"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points", "rejectedDataPoints"),
}
# google.rpc.Code, for those who log it; the protocol itself goes by the HTTP status.
_CODES: Final = {400: 3, 401: 16, 403: 7, 404: 5, 405: 12, 408: 4, 413: 8, 415: 3, 429: 8, 500: 13, 503: 14}


def form_of(content_type: str) -> Form | None:
    """The encoding that a Content-Type header names; None for one that the protocol does not know."""
    return MEDIA_TYPES.get(content_type.partition(";")[0].strip().lower())


def accepted(kind: Kind, form: Form, *, rejected: int = 0, message: str = "") -> Response:
    """The answer to a request that was taken, all of it or in part.

    Args:
        rejected: Spans or log records that were not taken.
        message: Why they were not.
    """
    response_type, snake, camel = _RESPONSES[kind]
    if form == "json":
        partial = {camel: str(rejected), "errorMessage": message} if rejected else None
        return _response(200, form, orjson.dumps({"partialSuccess": partial} if partial else {}))
    response = response_type()
    if rejected:
        setattr(response.partial_success, snake, rejected)
        response.partial_success.error_message = message
    return _response(200, form, response.SerializeToString())


def refused(error: Refused, form: Form | None) -> Response:
    """The answer to a request that was not taken.

    Args:
        form: The request's encoding; JSON where it has none that we know: a person may be reading.
    """
    code = _CODES.get(error.status, 2)
    if form == "protobuf":
        return _response(error.status, form, _status_message(code, error.message), error.headers)
    body = orjson.dumps({"code": code, "message": error.message})
    return _response(error.status, "json", body, error.headers)


def _response(status: int, form: Form, body: bytes, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status_code=status, headers=headers, media_type=_BY_FORM[form])


def _status_message(code: int, message: str) -> bytes:
    # google.rpc.Status by hand, {1: code, 2: message}: its library is a dependency for two fields.
    text = message.encode("utf-8", "replace")
    return b"\x08" + _varint(code) + b"\x12" + _varint(len(text)) + text


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
