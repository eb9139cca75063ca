"""A receiver in this process, and export requests to send to it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rejudge.otel.receiver import Drain, Rules, Serving, Spool, bind, make_app
from rejudge.otel.span import Batch

PROTOBUF = "application/x-protobuf"
JSON = "application/json"


class Received:
    """What came out of the spool; `hold` keeps it inside, `fail` makes storing it fail."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []
        self.hold = threading.Event()
        self.errors: list[Exception] = []
        self.hold.set()

    def ingest(self, batch: Batch) -> None:
        self.hold.wait()
        if self.errors:
            raise self.errors.pop(0)
        self.batches.append(batch)

    @property
    def span_ids(self) -> list[str]:
        return [span.span_id for batch in self.batches for span in batch.spans]

    @property
    def log_bodies(self) -> list[object]:
        return [log.body for batch in self.batches for log in batch.logs]


@contextlib.contextmanager
def receiving(
    folder: Path, received: Received, *, rules: Rules | None = None, spool_limit: int = 2**20, draining: bool = True
) -> Iterator[httpx.Client]:
    """A receiver and a client for it; what was accepted is drained when the block ends."""
    rules = rules or Rules()
    spool = Spool(folder, limit=spool_limit)
    serving = Serving(make_app(spool, rules), bind("127.0.0.1", 0)).start()
    drain = Drain(spool, received.ingest, limit=rules.body_bytes)
    if draining:
        drain.start()
    try:
        with httpx.Client(base_url=serving.url, timeout=30) as client:
            yield client
    finally:
        serving.stop()
        received.hold.set()
        if draining:
            drain.stop(within=20)
        spool.close()


def traces(*span_ids: int, name: str = "chat", trace_id: bytes = b"\1" * 16) -> bytes:
    """An export request of spans with these ids; one that is negative gets an id of a wrong length."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for number in span_ids:
        span = scope.spans.add(trace_id=trace_id, name=name, start_time_unix_nano=1, end_time_unix_nano=2)
        span.span_id = number.to_bytes(8, "big") if number > 0 else b"short"
    return request.SerializeToString()


def logs(*bodies: str) -> bytes:
    """An export request of log records with these bodies."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for body in bodies:
        scope.log_records.add(trace_id=b"\1" * 16, span_id=b"\1" * 8, time_unix_nano=1).body.string_value = body
    return request.SerializeToString()
