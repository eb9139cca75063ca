"""Sending log records to an OTLP/HTTP endpoint, as the protocol asks clients to."""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from rejudge.errors import PartialFailure, UsageError
from rejudge.otel.export.evaluations import request_of

RECORDS: Final = 512
"""Log records in one request, as in the SDK's batch processor."""

ATTEMPTS: Final = 6
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 30.0
_TIMEOUT: Final = 30.0
_RETRYABLE: Final = frozenset({429, 502, 503, 504})
_PROTOBUF: Final = "application/x-protobuf"
_PATH: Final = "/v1/logs"


@dataclass(frozen=True, slots=True)
class Sent:
    """What an endpoint made of what it was sent."""

    accepted: int = 0
    rejected: int = 0
    messages: tuple[str, ...] = ()
    """What it said of that, each sentence once."""


def send(
    records: Iterable[dict[str, Any]],
    endpoint: str,
    *,
    headers: Mapping[str, str] | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Sent:
    """Sends log records, in requests of some hundred.

    A request that the endpoint could not take now is sent again, after as long as it asks for; one that it took in
    part is not.

    Args:
        records: As `event_of` makes them.
        endpoint: A URL; without a path, the protocol's own for logs is added.
        headers: Sent with every request.
        pause: Waits some seconds.

    Raises:
        UsageError: For a URL that is none.
        PartialFailure: Where the endpoint refuses a request for good; what was sent before it stays sent.
    """
    url = logs_url(endpoint)
    accepted = rejected = 0
    messages: dict[str, None] = {}
    with httpx.Client(timeout=_TIMEOUT, headers=dict(headers or {})) as client:
        for batch in _batches(records):
            try:
                answer = _send(client, url, batch, pause)
            except _Failed as error:
                raise PartialFailure(
                    f"{url} did not take {len(batch)} events: {error}; {accepted} were taken before",
                    mend="send them again once it does: an endpoint may get the same event twice",
                ) from error
            partial = answer.partial_success
            refused = min(partial.rejected_log_records, len(batch))
            accepted += len(batch) - refused
            rejected += refused
            if partial.error_message:
                messages[partial.error_message] = None
    return Sent(accepted, rejected, tuple(messages))


def logs_url(endpoint: str) -> str:
    """Where logs are sent to at an endpoint.

    Example:
        >>> logs_url("http://localhost:4318"), logs_url("https://example.org/otel/v1/logs")
        ('http://localhost:4318/v1/logs', 'https://example.org/otel/v1/logs')
    """
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"{endpoint!r} is no endpoint", mend="write it as http://localhost:4318")
    return endpoint.rstrip("/") + _PATH if parts.path in ("", "/") else endpoint


class _Failed(Exception):
    """A request that will not succeed."""


def _batches(records: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for record in records:
        batch.append(record)
        if len(batch) == RECORDS:
            yield batch
            batch = []
    if batch:
        yield batch


def _send(
    client: httpx.Client, url: str, batch: list[dict[str, Any]], pause: Callable[[float], None]
) -> ExportLogsServiceResponse:
    body = gzip.compress(_protobuf(request_of(batch)))
    headers = {"content-type": _PROTOBUF, "content-encoding": "gzip"}
    for attempt in range(ATTEMPTS):
        wait = min(_FIRST_PAUSE * 2**attempt, _LONGEST_PAUSE) * random.uniform(0.8, 1.2)
        try:
            answer = client.post(url, content=body, headers=headers)
        except httpx.TransportError as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            if answer.is_success:
                return _response(answer)
            reason = f"HTTP {answer.status_code} {_words(answer)}".rstrip()
            if answer.status_code not in _RETRYABLE:
                raise _Failed(reason)
            asked = _retry_after(answer)
            wait = wait if asked is None else min(asked, _LONGEST_PAUSE)
        if attempt + 1 < ATTEMPTS:
            pause(wait)
    raise _Failed(f"{reason}, {ATTEMPTS} times")


def _protobuf(request: dict[str, Any]) -> bytes:
    """The request in the form that every endpoint takes; ids are hex in OTLP's JSON and base64 in protobuf's."""
    message = ExportLogsServiceRequest()
    for resource in request["resourceLogs"]:
        for scope in resource["scopeLogs"]:
            records, scope["logRecords"] = scope["logRecords"], []
            plain = [{name: value for name, value in one.items() if name not in _IDS} for one in records]
            target = message.resource_logs.add()
            ParseDict({**resource, "scopeLogs": [{**scope, "logRecords": plain}]}, target)
            for one, written in zip(records, target.scope_logs[0].log_records, strict=True):
                written.trace_id = bytes.fromhex(one.get("traceId", ""))
                written.span_id = bytes.fromhex(one.get("spanId", ""))
    return message.SerializeToString()


_IDS: Final = ("traceId", "spanId")


def _response(answer: httpx.Response) -> ExportLogsServiceResponse:
    """What the endpoint said; one that says nothing readable took everything."""
    response = ExportLogsServiceResponse()
    try:
        if "json" in answer.headers.get("content-type", ""):
            partial = orjson.loads(answer.content or b"{}").get("partialSuccess") or {}
            response.partial_success.rejected_log_records = int(partial.get("rejectedLogRecords", 0))
            response.partial_success.error_message = str(partial.get("errorMessage", ""))
        else:
            response.ParseFromString(answer.content)
    except (DecodeError, ValueError, TypeError, AttributeError):
        return ExportLogsServiceResponse()
    return response


def _words(answer: httpx.Response) -> str:
    """The sentence in an error's body, as far as it can be read: text, or the message of a ``google.rpc.Status``."""
    text = answer.content[:500].decode("utf-8", "ignore")
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())


def _retry_after(answer: httpx.Response) -> float | None:
    """Seconds that the endpoint asks to wait: a number, or a date."""
    value = answer.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
