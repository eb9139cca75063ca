"""Sessions judged by flows that their arrival triggers: in the receiver's process, and by a deployment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

import rejudge
from tests.flows.commands import ROOT, Commands
from tests.otel.agent_spans import request
from tests.otel.receiver_process import ReceiverProcess

PREFECT = Path(sys.executable).with_name("prefect")


@pytest.fixture(scope="module")
def prefect(served: Commands) -> dict[str, str]:
    """The variables that point at the local Prefect server of these tests."""
    home = served.environment["REJUDGE_HOME"]
    api_url = served("up", "--json").document["api_url"]
    return {"REJUDGE_HOME": home, "PREFECT_HOME": f"{home}/prefect", "PREFECT_API_URL": api_url, "CI": ""}


def send(receiver: ReceiverProcess, *traces: int) -> None:
    for trace in traces:
        body = request("chat", "tool", "root", trace=trace)
        headers = {"content-type": "application/x-protobuf"}
        assert httpx.post(f"{receiver.url}/v1/traces", content=body, headers=headers).status_code == 200


def wait_for_evaluations(receiver: ReceiverProcess, count: int, seconds: float = 120.0) -> set[tuple[str, str]]:
    """Evaluator and session of everything that was judged, once it is this much."""
    deadline = time.monotonic() + seconds
    with rejudge.open(receiver.database_url) as store:
        while len(rows := store.evaluations.list()) < count:
            assert time.monotonic() < deadline, receiver.log.read_text()
            time.sleep(0.2)
        return {(row.evaluator or "", row.session_id) for row in rows}


def test_a_receiver_judges_what_arrives_and_what_changes(prefect: dict[str, str], tmp_path: Path) -> None:
    with ReceiverProcess(tmp_path, "--evaluator", "rejudge/latency@latest", **prefect) as receiver:
        send(receiver, 1, 2)
        judged = wait_for_evaluations(receiver, 2)
        assert receiver.stop() == {"new": 2, "updated": 0}
    assert {evaluator for evaluator, _ in judged} == {"rejudge/latency"}
    assert len({session for _, session in judged}) == 2


@pytest.mark.slow
def test_a_deployment_is_started_by_the_event_of_their_arrival(prefect: dict[str, str], tmp_path: Path) -> None:
    variables = {
        **os.environ,
        **prefect,
        "PYTHONPATH": str(ROOT),
        "REJUDGE_DATABASE_URL": f"sqlite:///{tmp_path / 'store.db'}",
    }
    for command in (
        ["work-pool", "create", "rejudge", "--type", "process"],
        ["--no-prompt", "deploy", "--prefect-file", "deployments/on-arrival.yaml", "--all"],
    ):
        subprocess.run([PREFECT, *command], env=variables, cwd=ROOT, check=True, capture_output=True, timeout=120)
    worker = subprocess.Popen(
        [PREFECT, "worker", "start", "--pool", "rejudge"],
        env={**variables, "PREFECT_WORKER_QUERY_SECONDS": "2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with ReceiverProcess(tmp_path, "--announce", **prefect) as receiver:
            send(receiver, 1, 2, 3)
            judged = wait_for_evaluations(receiver, 6)
            receiver.stop()
    finally:
        worker.kill()  # what is tested has happened; its own orderly end can take minutes
        worker.wait(timeout=60)
    assert {evaluator for evaluator, _ in judged} == {"rejudge/cost", "rejudge/latency"}
    assert len(judged) == 6


def test_a_receiver_goes_on_where_prefect_cannot_be_reached(tmp_path: Path) -> None:
    variables = {"PREFECT_API_URL": "http://127.0.0.1:9/api", "PREFECT_CLIENT_MAX_RETRIES": "0"}
    with ReceiverProcess(tmp_path, "--announce", **variables) as receiver:
        send(receiver, 1)
        deadline = time.monotonic() + 60
        while "announcing failed" not in receiver.log.read_text():
            assert time.monotonic() < deadline, receiver.log.read_text()
            time.sleep(0.2)
        send(receiver, 2)
        receiver.wait_until_stored()
        assert receiver.stop() == {"new": 2, "updated": 0}
