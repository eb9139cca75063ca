"""`rejudge receive` as users have it: a process, real exporters, a framework of its own, and kill -9."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

import rejudge
from rejudge.models.session import Session
from tests.otel.agent_spans import request
from tests.otel.receiver_process import ReceiverProcess

AGENT = Path(__file__).parent / "framework_agent.py"
PROTOBUF = {"content-type": "application/x-protobuf"}


def sessions_of(receiver: ReceiverProcess) -> list[Session]:
    with rejudge.open(receiver.database_url) as store:
        return store.sessions.list()


def wait_for(count: int, receiver: ReceiverProcess, seconds: float = 20.0) -> None:
    """Returns once this many complete sessions are stored."""
    deadline = time.monotonic() + seconds
    while sum(one.complete for one in sessions_of(receiver)) < count:
        assert time.monotonic() < deadline, receiver.log.read_text()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReceiverProcess]:
    with ReceiverProcess(tmp_path_factory.mktemp("receive")) as running:
        yield running


def test_a_frameworks_own_instrumentation_is_a_session_within_seconds(receiver: ReceiverProcess) -> None:
    before = len(sessions_of(receiver))
    subprocess.run([sys.executable, AGENT, receiver.url], env=receiver.environment, check=True, timeout=120)
    wait_for(before + 1, receiver)
    (session,) = [one for one in sessions_of(receiver) if one.framework == "pydantic-ai"]
    assert (session.llm_call_count, session.tool_names, session.agents) == (2, ("look_up_order",), ("support",))
    assert (session.inputs, session.outputs) == ("Where is my refund?", "Your refund is on its way.")
    assert (session.source, session.status) == ("otel:support", "completed")


@pytest.mark.parametrize("compression", list(Compression), ids=str)
def test_the_sdks_exporter_is_understood(receiver: ReceiverProcess, compression: Compression) -> None:
    before = len(sessions_of(receiver))
    exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces", compression=compression)
    provider = TracerProvider(resource=Resource({"service.name": compression.value}))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("test")
    run = tracer.start_as_current_span("run", attributes={"gen_ai.operation.name": "invoke_agent"})
    tool = tracer.start_as_current_span("tool", attributes={"gen_ai.operation.name": "execute_tool"})
    with run, tool:
        pass
    provider.shutdown()
    wait_for(before + 1, receiver)
    assert sessions_of(receiver)[-1].source == f"otel:{compression.value}"


def test_other_commands_see_the_sessions_while_it_runs(receiver: ReceiverProcess) -> None:
    httpx.post(f"{receiver.url}/v1/traces", content=request("chat", "root", trace=77), headers=PROTOBUF)
    receiver.wait_until_stored()
    shown = receiver.ask("session", "list", "--agent", "a")["items"]
    assert f"{77:032x}" in [one["external_id"] for one in shown]
    receiver.ask("session", "export", "--agent", "a", "-o", "out.csv")
    assert (receiver.folder / "out.csv").read_text().count("\n") == len(shown) + 1


def test_nothing_that_was_answered_with_200_is_lost_by_kill_9(tmp_path: Path) -> None:
    with ReceiverProcess(tmp_path) as receiver:
        sent = 0
        for pause in (0.0, 0.3, 0.6):
            for _ in range(20):
                sent += 1
                answer = httpx.post(
                    f"{receiver.url}/v1/traces", content=request("chat", "root", trace=sent), headers=PROTOBUF
                )
                assert answer.status_code == 200
            time.sleep(pause)  # before, while and after the requests are stored
            receiver.kill()
            receiver.start()
        receiver.wait_until_stored()
        ended = receiver.stop()
        stored = [one.external_id for one in sessions_of(receiver)]
    assert sorted(stored) == [f"{trace:032x}" for trace in range(1, sent + 1)]
    assert ended["updated"] == 0


def test_a_burst_beyond_the_spool_is_held_back_and_arrives(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with ReceiverProcess(tmp_path, "--spool", "0.005") as receiver:

        def export(number: int) -> None:
            exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces", timeout=60)
            provider = TracerProvider(resource=Resource({"service.name": f"burst-{number}"}), shutdown_on_exit=False)
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            for _ in range(10):
                with provider.get_tracer("t").start_as_current_span(
                    "r", attributes={"gen_ai.operation.name": "chat"}
                ):
                    pass
            provider.shutdown()

        threads = [threading.Thread(target=export, args=(number,)) for number in range(4)]

        def refused() -> bool:
            return any("Service Unavailable" in record.getMessage() for record in caplog.records)

        with contextlib.closing(sqlite3.connect(receiver.folder / "store.db", isolation_level=None)) as busy:
            busy.execute("BEGIN IMMEDIATE")  # nothing is stored meanwhile, so that the spool fills up
            for thread in threads:
                thread.start()
            deadline = time.monotonic() + 60
            while not refused():
                assert time.monotonic() < deadline, receiver.log.read_text()
                time.sleep(0.05)
            busy.execute("ROLLBACK")
        for thread in threads:
            thread.join()
        wait_for(40, receiver, seconds=60)
        assert receiver.pending() == 0
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_token_from_the_environment_is_asked_for_and_never_shown(tmp_path: Path) -> None:
    with ReceiverProcess(tmp_path, REJUDGE_RECEIVE_TOKEN="sesame-4711") as receiver:
        url = f"{receiver.url}/v1/traces"
        assert httpx.post(url, content=request("root"), headers=PROTOBUF).status_code == 401
        headers = {**PROTOBUF, "authorization": "Bearer sesame-4711"}
        assert httpx.post(url, content=request("root"), headers=headers).status_code == 200
        receiver.wait_until_stored()
        assert receiver.stop() == {"new": 1, "updated": 0}
        assert "4711" not in receiver.log.read_text()


def test_a_second_receiver_for_the_same_store_is_a_conflict(receiver: ReceiverProcess) -> None:
    command = [sys.executable, "-m", "rejudge.cli", "receive", "--agent", "a", "--port", "0"]
    done = subprocess.run(command, cwd=receiver.folder, env=receiver.environment, capture_output=True, timeout=60)
    assert done.returncode == 5
    assert b"another receiver is running" in done.stderr
