"""From requests to sessions: whatever the order in which spans and logs come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from rejudge.api.arrivals import ORPHAN_SECONDS, QUIET_SECONDS, Waiting
from rejudge.api.receiving import Arrival, Receiver, Reception
from rejudge.errors import Conflict, UsageError
from rejudge.models.selection import Selection
from rejudge.otel import Options, Redaction
from rejudge.store.engine import Database, connect
from rejudge.store.reading import load_views
from rejudge.store.selecting import list_sessions, select_sessions
from tests.otel.agent_spans import content_logs, request

RECEPTION = Reception(agent="a", tags=("live",), port=0)


class Sender:
    """Sends requests to a receiver, and waits until what was sent is stored."""

    def __init__(self, receiver: Receiver, arrivals: list[Arrival]) -> None:
        self.receiver = receiver
        self.arrivals = arrivals

    def send(self, *bodies: bytes, path: str = "/v1/traces") -> None:
        for body in bodies:
            headers = {"content-type": "application/x-protobuf"}
            assert httpx.post(f"{self.receiver.url}{path}", content=body, headers=headers).status_code == 200
        while self.receiver.pending:
            threading.Event().wait(0.02)


@contextmanager
def receiving(database: Database, folder: Path, reception: Reception = RECEPTION) -> Iterator[Sender]:
    arrivals: list[Arrival] = []
    with Receiver(database, reception, folder=folder, on_arrival=arrivals.extend) as receiver:
        yield Sender(receiver, arrivals)


def test_sessions_are_stored_as_their_spans_come(database: Database, tmp_path: Path) -> None:
    with receiving(database, tmp_path) as sender:
        sender.send(request("chat", "tool"))
        early = list_sessions(database)
        sender.send(request("root"))
        late = list_sessions(database)
        outcomes = [(one.outcome, one.complete) for one in sender.arrivals]
        assert sender.receiver.outcomes == {"new": 1, "updated": 1}
    assert [(one.complete, one.llm_call_count, one.tool_names) for one in early] == [(False, 1, ("look_up",))]
    assert [(one.complete, one.name, one.tags) for one in late] == [(True, "root", ("live",))]
    assert (early[0].id, outcomes) == (late[0].id, [("new", False), ("updated", True)])
    assert early[0].digest != late[0].digest


def test_the_same_request_again_changes_nothing(database: Database, tmp_path: Path) -> None:
    with receiving(database, tmp_path) as sender:
        sender.send(request("chat", "root"))
        before = list_sessions(database)
        sender.send(request("chat", "root"))
        assert len(sender.arrivals) == 1
    assert list_sessions(database) == before


def test_log_records_that_come_before_their_spans_are_not_lost(database: Database, tmp_path: Path) -> None:
    with receiving(database, tmp_path) as sender:
        sender.send(content_logs(), path="/v1/logs")
        assert list_sessions(database) == []
        sender.send(request("chat", "root"))
        assert list(tmp_path.rglob("*.held")) == []
    (view,) = load_views(database, select_sessions(database, Selection(all=True)).session_ids)
    assert view.llm_calls[0].inputs["messages"][0]["parts"][0]["content"] == "hello from a log"


def test_what_waits_for_its_session_outlives_a_restart(database: Database, tmp_path: Path) -> None:
    with receiving(database, tmp_path) as sender:
        sender.send(content_logs(), path="/v1/logs")
        sender.send(request("http"))
    assert list_sessions(database) == []
    with receiving(database, tmp_path) as sender:
        sender.send(request("chat", "root"))
    (view,) = load_views(database, select_sessions(database, Selection(all=True)).session_ids)
    assert sorted(node.name for node in view.nodes) == ["chat", "http", "root"]
    assert view.llm_calls[0].inputs is not None


def test_turns_of_one_conversation_are_one_session(database: Database, tmp_path: Path) -> None:
    with receiving(database, tmp_path) as sender:
        for trace in (1, 2, 3):
            sender.send(request("chat", "root", trace=trace, conversation="c-1"))
    assert [(one.external_id, one.llm_call_count) for one in list_sessions(database)] == [("c-1", 3)]


def test_what_is_redacted_reaches_neither_rows_nor_what_waits(database: Database, tmp_path: Path) -> None:
    options = Options(redact=Redaction(patterns=(r"\d{4}",)))
    with receiving(database, tmp_path, replace(RECEPTION, options=options)) as sender:
        sender.send(request("chat", "root"))
    (view,) = load_views(database, select_sessions(database, Selection(all=True)).session_ids)
    assert "4711" not in str([node.decoded() for node in view.nodes])
    assert "secret" in str(view.llm_calls[0].outputs)


def test_without_content_nothing_said_is_kept(database: Database, tmp_path: Path) -> None:
    with receiving(database, tmp_path, replace(RECEPTION, options=Options(content=False))) as sender:
        sender.send(request("chat", "root"))
    (view,) = load_views(database, select_sessions(database, Selection(all=True)).session_ids)
    assert (view.llm_calls[0].input_tokens, view.llm_calls[0].outputs) == (10, None)


def test_other_programs_spans_are_no_sessions(database: Database, tmp_path: Path) -> None:
    with receiving(database, tmp_path) as sender:
        sender.send(request("http"))
    assert (list_sessions(database), sender.arrivals) == ([], [])


@pytest.fixture
def sqlite(tmp_path: Path, sqlite_template: Path) -> Database:
    path = tmp_path / "one.db"
    path.write_bytes(sqlite_template.read_bytes())
    return connect(f"sqlite:///{path}")


def test_two_receivers_of_one_agent_and_store_are_refused(sqlite: Database, tmp_path: Path) -> None:
    with receiving(sqlite, tmp_path):
        with pytest.raises(Conflict):
            Receiver(sqlite, RECEPTION, folder=tmp_path)
        with receiving(sqlite, tmp_path, replace(RECEPTION, agent="b")):
            pass


def test_a_port_that_is_taken_is_said_and_frees_the_folder(sqlite: Database, tmp_path: Path) -> None:
    with receiving(sqlite, tmp_path) as sender:
        taken = int(sender.receiver.url.rpartition(":")[2])
        for _ in range(2):
            with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1:{taken}"):
                Receiver(sqlite, Reception(agent="b", port=taken), folder=tmp_path)


def test_a_session_is_ready_when_nothing_of_it_comes_any_more() -> None:
    waiting = Waiting()
    waiting.add([Arrival("whole", 1, "new", True), Arrival("rootless", 2, "new", False)], now=0.0)
    waiting.add([Arrival("whole", 1, "updated", True)], now=QUIET_SECONDS / 2)
    assert waiting.ready(QUIET_SECONDS) == []
    assert waiting.ready(QUIET_SECONDS * 1.5) == ["whole"]
    assert (waiting.ready(ORPHAN_SECONDS), len(waiting)) == (["rootless"], 0)
