"""What the receiver answers: the protocol, and what is not."""

from __future__ import annotations

import gzip
import json
import socket
import zlib
from pathlib import Path

import httpx
import pytest
import zstandard
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from rejudge.otel.receiver import Rules
from tests.otel.receiving import JSON, PROTOBUF, Received, logs, receiving, traces

SMALL = Rules(body_bytes=64 * 1024)


def post(client: httpx.Client, body: bytes, *, path: str = "/v1/traces", kind: str = PROTOBUF, **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.post(path, content=body, headers={"content-type": kind, **named})


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


ENCODINGS = {
    "identity": lambda data: data,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "deflate-raw": raw_deflate,
    "zstd": zstandard.compress,
    "gzip-in-members": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
    "zstd-in-frames": lambda data: zstandard.compress(data[:9]) + zstandard.compress(data[9:]),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_takes_every_content_encoding(tmp_path: Path, encoding: str) -> None:
    received = Received()
    with receiving(tmp_path, received) as client:
        answer = post(client, ENCODINGS[encoding](traces(7)), content_encoding=encoding.split("-")[0])
    assert (answer.status_code, answer.headers["content-type"]) == (200, PROTOBUF)
    assert not ExportTraceServiceResponse.FromString(answer.content).HasField("partial_success")
    assert received.span_ids == [f"{7:016x}"]


def test_takes_json_and_answers_in_json(tmp_path: Path) -> None:
    received = Received()
    span = {"traceId": "0A" * 16, "spanId": "0b" * 8, "name": "chat", "startTimeUnixNano": "1", "endTimeUnixNano": 2}
    body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}], "unknown": [1]}
    with receiving(tmp_path, received) as client:
        answer = post(client, json.dumps(body).encode(), kind="application/json; charset=utf-8")
    assert (answer.status_code, answer.headers["content-type"], answer.json()) == (200, JSON, {})
    assert received.span_ids == ["0b" * 8]


def test_takes_log_records(tmp_path: Path) -> None:
    received = Received()
    with receiving(tmp_path, received) as client:
        answer = post(client, logs("hello"), path="/v1/logs")
    assert ExportLogsServiceResponse.FromString(answer.content) == ExportLogsServiceResponse()
    assert received.log_bodies == ["hello"]


def test_takes_metrics_and_drops_them(tmp_path: Path) -> None:
    received = Received()
    with receiving(tmp_path, received) as client:
        answer = post(client, b"\x0a\x00", path="/v1/metrics")
        assert client.get("/health").json() == {"status": "ok", "pending_requests": 0}
    assert (answer.status_code, answer.content, received.batches) == (200, b"", [])


@pytest.mark.parametrize("kind", [PROTOBUF, JSON])
def test_an_empty_request_is_a_success(tmp_path: Path, kind: str) -> None:
    with receiving(tmp_path, Received()) as client:
        assert post(client, b"", kind=kind).status_code == 200


def test_says_how_many_spans_were_rejected_and_why(tmp_path: Path) -> None:
    received = Received()
    with receiving(tmp_path, received) as client:
        partial = ExportTraceServiceResponse.FromString(post(client, traces(7, -1, -1)).content).partial_success
        bad = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "zz", "spanId": "0b" * 8}]}]}]}
        in_json = post(client, json.dumps(bad).encode(), kind=JSON).json()["partialSuccess"]
    assert partial.rejected_spans == 2
    assert "an id of 5 bytes where 8 belong" in partial.error_message
    assert in_json["rejectedSpans"] == "1"
    assert "'zz' is not one of 32 hex digits" in in_json["errorMessage"]
    assert received.span_ids == [f"{7:016x}"]


def test_says_how_many_log_records_were_rejected(tmp_path: Path) -> None:
    received = Received()
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"traceId": "zz"}, {"body": {"stringValue": "a"}}]}]}]}
    with receiving(tmp_path, received) as client:
        answer = post(client, json.dumps(body).encode(), path="/v1/logs", kind=JSON)
    assert answer.json()["partialSuccess"]["rejectedLogRecords"] == "1"
    assert received.log_bodies == ["a"]


BOMB = gzip.compress(b"\0" * 50_000_000)
REFUSED = {
    "gzip bomb": (413, BOMB, {"content_encoding": "gzip"}),
    "zstd bomb": (413, zstandard.compress(b"\0" * 50_000_000), {"content_encoding": "zstd"}),
    "deflate bomb": (413, zlib.compress(b"\0" * 50_000_000), {"content_encoding": "deflate"}),
    "bomb in a bomb's tail": (413, gzip.compress(b"") + BOMB, {"content_encoding": "gzip"}),
    "oversize": (413, b"\0" * 100_000, {}),
    "truncated gzip": (400, gzip.compress(traces(1))[:-12], {"content_encoding": "gzip"}),
    "gzip without its checksum": (400, gzip.compress(traces(1))[:-4], {"content_encoding": "gzip"}),
    "truncated zstd": (400, zstandard.compress(traces(1))[:-3], {"content_encoding": "zstd"}),
    "empty gzip": (400, b"", {"content_encoding": "gzip"}),
    "not gzip": (400, traces(1), {"content_encoding": "gzip"}),
    "junk behind gzip": (400, gzip.compress(traces(1)) + b"junk", {"content_encoding": "gzip"}),
    "not zstd": (400, traces(1), {"content_encoding": "zstd"}),
    "unknown encoding": (415, traces(1), {"content_encoding": "br"}),
    "not protobuf": (400, b"<!doctype html><html></html>", {}),
    "text": (415, b"hello", {"kind": "text/plain"}),
    "no content type": (415, traces(1), {"kind": ""}),
    "form": (415, b"a=1", {"kind": "application/x-www-form-urlencoded"}),
    "html as json": (400, b"<!doctype html><html></html>", {"kind": JSON}),
    "a json list": (400, b"[]", {"kind": JSON}),
    "json of another shape": (400, b'{"resourceSpans": 5}', {"kind": JSON}),
    "json 100,000 levels deep": (413, b"[" * 100_000, {"kind": JSON}),
    "json 30,000 levels deep": (400, b"[" * 30_000, {"kind": JSON}),
    "from a web page": (403, traces(1), {"origin": "https://example.org"}),
    "no such path": (404, traces(1), {"path": "/v1/profiles"}),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory):
    received = Received()
    with receiving(tmp_path_factory.mktemp("spool"), received, rules=SMALL) as client:
        yield client, received


@pytest.mark.parametrize("case", REFUSED)
def test_refuses_with_a_status_in_the_requests_encoding_and_lives_on(
    shared: tuple[httpx.Client, Received], case: str
) -> None:
    client, _ = shared
    status, body, options = REFUSED[case]
    answer = post(client, body, **options)
    assert answer.status_code == status, answer.content
    if options.get("kind", PROTOBUF) == PROTOBUF:
        assert answer.headers["content-type"] == PROTOBUF
        assert Status.FromString(answer.content).message
    else:
        assert answer.headers["content-type"] == JSON
        assert answer.json()["message"]
    assert "retry-after" not in answer.headers
    assert post(client, traces(1)).status_code == 200


def test_another_method_is_refused(shared: tuple[httpx.Client, Received]) -> None:
    answer = shared[0].get("/v1/traces")
    assert (answer.status_code, answer.headers["content-type"]) == (405, JSON)


def test_a_body_without_a_length_is_cut_off_at_the_limit(shared: tuple[httpx.Client, Received]) -> None:
    client, _ = shared
    answer = client.post("/v1/traces", content=(b"\0" * 9_000 for _ in range(20)), headers={"content-type": PROTOBUF})
    assert answer.status_code == 413


def test_a_client_that_hangs_up_does_no_harm(shared: tuple[httpx.Client, Received]) -> None:
    client, _ = shared
    address = (client.base_url.host, client.base_url.port)
    head = f"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: {PROTOBUF}\r\nContent-Length: 5000\r\n\r\n"
    for sent in (b"", b"GARBAGE\r\n\r\n", head.encode(), head.encode() + traces(1)):
        with socket.create_connection(address) as connection:
            connection.sendall(sent)
    assert post(client, traces(1)).status_code == 200


def test_a_body_that_is_cut_short_gives_what_is_whole_in_it(tmp_path: Path) -> None:
    received = Received()
    with receiving(tmp_path, received) as client:
        answer = post(client, traces(1, 2, 3)[:-10])
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_spans >= 1
    assert received.span_ids == [f"{1:016x}", f"{2:016x}"]


@pytest.mark.parametrize(
    ("sent", "status"),
    [(None, 401), ("Bearer wrong", 401), ("Basic sesame", 401), ("Bearer sesäme", 401), ("bearer sesame", 200)],
)
def test_a_token_is_asked_for(tmp_path: Path, sent: str | None, status: int) -> None:
    headers = {"content-type": PROTOBUF, **({"authorization": sent.encode()} if sent else {})}
    with receiving(tmp_path, Received(), rules=Rules(token="sesame")) as client:
        answer = client.post("/v1/traces", content=traces(1), headers=headers)
    assert answer.status_code == status
    assert (answer.headers.get("www-authenticate") == "Bearer") is (status == 401)
