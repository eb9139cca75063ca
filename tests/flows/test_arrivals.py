"""Sessions judged by flows that their arrival triggers: in the receiver's process, and by a deployment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import rejudge
from tests.otel.agent_spans import request
from tests.otel.receiver_process import ReceiverProcess

ROOT = Path(__file__).parents[2]
PREFECT = Path(sys.executable).with_name("prefect")
START = """
from rejudge import server, settings
print(server.find_or_start(settings.current(), say=lambda _: None).api_url)
"""


@pytest.fixture(scope="module")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The variables that point at a local Prefect server of this module's own."""
    home = tmp_path_factory.mktemp("home")
    variables = {"REJUDGE_HOME": str(home), "PREFECT_HOME": str(home / "prefect"), "CI": "", "PYTHONPATH": str(ROOT)}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT_", "REJUDGE_"))}
    surroundings = {**kept, **variables}
    done = subprocess.run([sys.executable, "-c", START], env=surroundings, capture_output=True, text=True, check=True)
    yield {**variables, "PREFECT_API_URL": done.stdout.strip()}
    subprocess.run([sys.executable, "-m", "rejudge.cli", "down"], env=surroundings, check=True, capture_output=True)


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
    variables = {**os.environ, **prefect, "REJUDGE_DATABASE_URL": f"sqlite:///{tmp_path / 'store.db'}"}
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
        worker.terminate()
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
