"""Evaluations as OpenTelemetry events, and how they are sent."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse

from rejudge.errors import PartialFailure, UsageError
from rejudge.models.session import Node, Session, SessionView
from rejudge.otel.export import Judged, Sent, event_of, send
from rejudge.otel.receiver import Rules
from tests.otel.receiving import Received, receiving

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
SPAN = "00f067aa0ba902b7"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
VIEW = SessionView(
    Session(id="s-1", external_id="conversation-1"),
    [
        Node(id=SPAN, index=0, node_type="span", trace_id=TRACE),
        Node(id="b" * 16, index=1, node_type="llm_call", parent_id=SPAN),
    ],
)

JUDGED = {
    "float": (
        Judged(name="similarity", created_at=NOW, score=0.75, explanation="close"),
        {"gen_ai.evaluation.score.value": 0.75, "gen_ai.evaluation.explanation": "close"},
    ),
    "bool": (
        Judged(name="polite", created_at=NOW, score=True, passed=True),
        {
            "gen_ai.evaluation.score.value": 1.0,
            "gen_ai.evaluation.score.label": "pass",
            "rejudge.evaluation.passed": True,
        },
    ),
    "categorical": (
        Judged(name="outcome", created_at=NOW, score=2, label="escalated", passed=False),
        {"gen_ai.evaluation.score.value": 2.0, "gen_ai.evaluation.score.label": "escalated"},
    ),
    "text": (Judged(name="topic", created_at=NOW, label="refunds"), {"gen_ai.evaluation.score.label": "refunds"}),
    "no result": (
        Judged(name="topic", created_at=NOW, error_type="timed_out", explanation="after 30 s"),
        {
            "error.type": "timed_out",
            "gen_ai.evaluation.score.label": "unscored",
            "gen_ai.evaluation.explanation": "after 30 s",
        },
    ),
}


@pytest.mark.parametrize("case", JUDGED)
def test_an_event_says_what_the_convention_asks_under_the_span_it_judges(tmp_path: Path, case: str) -> None:
    judged, expected = JUDGED[case]
    received = Received()
    with receiving(tmp_path, received) as client:
        sent = send([event_of(judged, VIEW)], str(client.base_url))
    (record,) = received.batches[0].logs
    assert sent == Sent(accepted=1)
    assert (record.name, record.trace_id, record.span_id) == ("gen_ai.evaluation.result", TRACE, SPAN)
    assert record.time_ns == int(NOW.timestamp()) * 10**9
    assert record.resource["service.name"] == "rejudge"
    common = {
        "gen_ai.evaluation.name": judged.name,
        "gen_ai.conversation.id": "conversation-1",
        "rejudge.session.id": "s-1",
    }
    assert expected.items() | common.items() <= record.attributes.items()
    assert (judged.score is None) == ("gen_ai.evaluation.score.value" not in record.attributes)


def test_a_session_without_spans_is_named_by_its_answer() -> None:
    node = Node(id="x", index=0, node_type="tool_call", inferred=True, response_id="resp-9")
    event = event_of(Judged(name="n", created_at=NOW), SessionView(Session(id="s"), [node]))
    assert "spanId" not in event
    assert {"key": "gen_ai.response.id", "value": {"stringValue": "resp-9"}} in event["attributes"]


def test_many_events_go_in_requests_of_some_hundred_with_the_token(tmp_path: Path) -> None:
    events = [event_of(Judged(name=f"m{n}", created_at=NOW), VIEW) for n in range(1100)]
    received = Received()
    with receiving(tmp_path, received, rules=Rules(token="sesame"), spool_limit=2**24) as client:
        endpoint = str(client.base_url)
        with pytest.raises(PartialFailure, match="HTTP 401"):
            send(events, endpoint)
        assert send(events, endpoint, headers={"authorization": "Bearer sesame"}).accepted == 1100
    assert sum(len(batch.logs) for batch in received.batches) == 1100


class Endpoint:
    """Answers with what it is told, one after the other."""

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        self.answers = list(answers)
        self.bodies: list[ExportLogsServiceRequest] = []
        self.pauses: list[float] = []
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator[Endpoint]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                endpoint.bodies.append(ExportLogsServiceRequest.FromString(gzip.decompress(body)))
                status, headers, content = endpoint.answers.pop(0)
                self.send_response(status)
                for name, value in {"content-length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{server.server_port}/otel/v1/logs"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def send(self) -> Sent:
        with self.serving():
            return send([event_of(Judged(name="n", created_at=NOW), VIEW)] * 3, self.url, pause=self.pauses.append)


OK = (200, {"content-type": "application/x-protobuf"}, b"")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_cannot_be_taken_now_is_sent_again_after_as_long_as_asked(status: int) -> None:
    endpoint = Endpoint((status, {"retry-after": "7"}, b""), (status, {}, b""), OK)
    assert endpoint.send() == Sent(accepted=3)
    assert endpoint.bodies[0] == endpoint.bodies[2]
    assert endpoint.pauses[0] == 7.0
    assert 1.6 <= endpoint.pauses[1] <= 2.4


def test_a_date_to_wait_for_is_understood() -> None:
    past = format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)
    endpoint = Endpoint((503, {"retry-after": past}, b""), (503, {"retry-after": "soon"}, b""), OK)
    assert endpoint.send().accepted == 3
    assert endpoint.pauses[0] == 0.0
    assert endpoint.pauses[1] > 1.0


def test_an_endpoint_that_never_recovers_is_given_up() -> None:
    endpoint = Endpoint(*[(503, {}, b"")] * 6)
    with pytest.raises(PartialFailure, match="HTTP 503, 6 times; 0 were taken before"):
        endpoint.send()
    assert len(endpoint.pauses) == 5


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500])
def test_what_is_refused_for_good_is_not_sent_again(status: int) -> None:
    endpoint = Endpoint((status, {}, b"\x1b[31mno\n"))
    with pytest.raises(PartialFailure, match=rf"HTTP {status} \[31mno"):
        endpoint.send()
    assert len(endpoint.bodies) == 1


def _partial(rejected: int, message: str) -> bytes:
    response = ExportLogsServiceResponse()
    response.partial_success.rejected_log_records = rejected
    response.partial_success.error_message = message
    return response.SerializeToString()


PARTIAL = {
    "protobuf": ({"content-type": "application/x-protobuf"}, _partial(2, "too old")),
    "json": (
        {"content-type": "application/json"},
        b'{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old"}}',
    ),
}


@pytest.mark.parametrize("form", PARTIAL)
def test_a_partial_success_is_counted_and_not_sent_again(form: str) -> None:
    headers, content = PARTIAL[form]
    endpoint = Endpoint((200, headers, content))
    assert endpoint.send() == Sent(accepted=1, rejected=2, messages=("too old",))
    assert len(endpoint.bodies) == 1


@pytest.mark.parametrize("content", [b"<html>", b"{", b"[]", b'{"partialSuccess": 5}'])
@pytest.mark.parametrize("kind", ["application/json", "application/x-protobuf", "text/html"])
def test_an_answer_that_says_nothing_readable_is_a_success(kind: str, content: bytes) -> None:
    assert Endpoint((200, {"content-type": kind}, content)).send() == Sent(accepted=3)


def test_nobody_there_is_a_failure_after_some_attempts() -> None:
    endpoint = Endpoint()
    with endpoint.serving():
        pass
    with pytest.raises(PartialFailure, match="ConnectError"):
        send([event_of(Judged(name="n", created_at=NOW), VIEW)], endpoint.url, pause=endpoint.pauses.append)
    assert len(endpoint.pauses) == 5


@pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://x", "", "http://"])
def test_an_endpoint_that_is_no_url_is_refused(endpoint: str) -> None:
    with pytest.raises(UsageError, match="is no endpoint"):
        send([], endpoint)
