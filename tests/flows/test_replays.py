"""Replays through the real command: idempotent, killed, interrupted, canceled; agents that misbehave."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from rejudge.models.recording import Recording
from rejudge.models.session import Session, SessionView
from rejudge.store.engine import Database
from rejudge.store.writing import Placement, save_recordings
from tests.api.replays import TALK, lines, record, register
from tests.flows.commands import Commands, end_group, wait_until
from tests.replay.build import running_in

SLOW = """
    import os, signal, subprocess, time
    def run(inputs):
        with open("began", "a") as log:
            log.write(f"{os.getpid()}\\n")
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.path.exists("slow"):
            subprocess.Popen(["sleep", "617"], start_new_session=True)
            time.sleep(600)
        return "fine"
"""

MISBEHAVING = """
    import os, signal, subprocess, sys, time
    def run(inputs):
        if inputs == "hangs":
            time.sleep(600)
        if inputs == "ignores SIGTERM":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(600)
        if inputs == "forks":
            for _ in range(5):
                if os.fork() == 0:
                    os.setsid()
                    subprocess.Popen(["sleep", "617"], start_new_session=True)
                    time.sleep(600)
            time.sleep(600)
        if inputs == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        if inputs == "prints":
            for _ in range(200):
                sys.stdout.write("x" * 100_000)
        return inputs
"""
ENDS = {
    "hangs": "timed_out",
    "ignores SIGTERM": "timed_out",
    "forks": "timed_out",
    "crashes": "crashed",
    "prints": "completed",
    "behaves": "completed",
}


@pytest.fixture
def desk(commands: Commands) -> Commands:
    """Commands in a folder with an agent's session 1."""
    with commands.store as store:
        return filled(store.database, commands)


@pytest.fixture
def desk_anywhere(commands_anywhere: Commands, database: Database) -> Commands:
    """The same on SQLite and on PostgreSQL."""
    return filled(database, commands_anywhere)


def filled(database: Database, commands: Commands) -> Commands:
    record(database, commands.folder, TALK)
    register(database, commands.folder, SLOW, name="slow", timeout=300)
    return commands


def replays(commands: Commands) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = commands("replay", "list", "--json").document["items"]
    return found


def results(commands: Commands) -> list[str]:
    with commands.store as store:
        return [one.id for one in store.sessions.list() if one.origin == "replay"]


def post(api: str, path: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    request = urllib.request.Request(f"{api}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


def test_a_replay_is_there_once_and_its_page_shows_both_runs(desk: Commands, served: Commands) -> None:
    words = ("replay", "run", "1", "--model", "new", "--from", "tool:look#3", "--evaluator", "rejudge/latency@latest")
    first = desk(*words, "--json")
    assert (first.code, first.document["created"], first.document["status"]) == (0, True, "completed"), first.err
    again = desk(*words, "--json")
    assert (again.document["number"], again.document["created"]) == (1, False)
    other = desk(*words, "--again", "--json")
    assert (other.document["number"], other.document["created"]) == (2, True)
    assert len(lines(desk.folder / "asked")) == 2 * 3 and lines(desk.folder / "looked") == []
    api = served("up", "--json").document["api_url"]
    flow = {"flow_runs": {"id": {"any_": [first.document["flow_run_id"]]}}}
    [run] = post(api, "flow_runs/filter", flow)
    assert first.document["url"] == f"{api.removesuffix('/api')}/runs/flow-run/{run['id']}"
    assert (run["name"], run["state_name"]) == ("replay session 1: model new, from tool:look#3", "Replayed")
    [page] = post(api, "artifacts/filter", {**flow, "artifacts": {"key": {"any_": ["replay"]}}})
    assert "first difference at step 7" in page["data"] and "**▶ model desk → new**" in page["data"]
    with desk.store as store:
        assert len({one.session_id for one in store.evaluations.scorings()}) == 3


def test_killed_in_the_middle_and_run_again_there_is_one_session(desk_anywhere: Commands) -> None:
    desk = desk_anywhere
    (desk.folder / "slow").touch()
    running = desk.start("replay", "run", "1", "--agent", "slow@1")
    try:
        wait_until(lambda: bool(lines(desk.folder / "began")))
        running.kill()
    finally:
        end_group(running)
    wait_until(lambda: not running_in(desk.folder), seconds=20)
    (desk.folder / "slow").unlink()
    assert (replays(desk)[0]["status"], results(desk)) == ("running", [])
    again = desk("replay", "run", "1", "--agent", "slow@1", "--json")
    assert (again.code, again.document["number"], again.document["status"]) == (0, 1, "completed"), again.err
    assert results(desk) == [again.document["result_session_id"]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_interrupted_the_agent_is_ended_and_the_replay_is_canceled(desk: Commands, number: signal.Signals) -> None:
    (desk.folder / "slow").touch()
    running = desk.start("replay", "run", "1", "--agent", "slow@1")
    try:
        wait_until(lambda: bool(lines(desk.folder / "began")))
        running.send_signal(number)
        assert running.wait(timeout=60) == 130
    finally:
        end_group(running)
    assert not running_in(desk.folder)
    [canceled] = replays(desk)
    assert (canceled["status"], canceled["result_session_id"], results(desk)) == ("canceled", None, [])


def test_a_run_that_is_canceled_at_prefect_ends_its_agent(served: Commands, tmp_path: Path) -> None:
    with served.store as store:
        session = record(store.database, tmp_path, TALK)
        agent = register(store.database, tmp_path, SLOW, name="slow", timeout=300)
    (tmp_path / "slow").touch()
    up = served("up", "--json").document
    handed_over = served("replay", "run", session, "--agent", agent, "--detach", "--json")
    assert handed_over.code == 0, handed_over.err
    identifier = handed_over.document["flow_run_id"]
    wait_until(lambda: bool(lines(tmp_path / "began")), seconds=90)
    cancel = [sys.executable, "-m", "prefect", "flow-run", "cancel", identifier]
    subprocess.run(cancel, env={**served.environment, "PREFECT_API_URL": up["api_url"]}, check=True, timeout=120)
    wait_until(lambda: not running_in(tmp_path))
    wait_until(lambda: replays(served)[-1]["status"] == "canceled")
    flow = {"flow_runs": {"id": {"any_": [identifier]}}}
    wait_until(lambda: post(up["api_url"], "flow_runs/filter", flow)[0]["state_type"] == "CANCELLED")


def test_a_commands_run_that_is_canceled_at_prefect_ends_as_by_an_interrupt(desk: Commands, served: Commands) -> None:
    (desk.folder / "slow").touch()
    api = served("up", "--json").document["api_url"]
    running = desk.start("replay", "run", "1", "--agent", "slow@1")
    try:
        wait_until(lambda: bool(lines(desk.folder / "began")))
        began = {
            "state": {"type": {"any_": ["RUNNING"]}},
            "parent_task_run_id": {"operator": "and_", "is_null_": True},
        }
        [identifier] = [
            one["id"]
            for one in post(api, "flow_runs/filter", {"flow_runs": began})
            if one["parameters"]["request"]["agent"] == "slow@1"
        ]
        cancel = [sys.executable, "-m", "prefect", "flow-run", "cancel", identifier]
        subprocess.run(cancel, env={**desk.environment, "PREFECT_API_URL": api}, check=True, timeout=120)
        assert running.wait(timeout=60) == 130
        assert running.stderr is not None and "canceled at Prefect" in running.stderr.read()
    finally:
        end_group(running)
    assert not running_in(desk.folder)
    assert (replays(desk)[0]["status"], results(desk)) == ("canceled", [])
    flow = {"flow_runs": {"id": {"any_": [identifier]}}}
    assert post(api, "flow_runs/filter", flow)[0]["state_type"] == "CANCELLED"


def test_agents_that_misbehave_end_in_time_and_the_next_ones_are_fine(commands: Commands) -> None:
    tmp_path = commands.folder
    with commands.store as store:
        for inputs in ENDS:
            head = Session(external_id=inputs, source="test", inputs=inputs, outputs=inputs, digest=inputs)
            save_recordings(store.database, [Recording(SessionView(head))], Placement(agent="bad", tags=("all",)))
        register(store.database, tmp_path, MISBEHAVING, name="bad", timeout=4)
    assert commands("cohort", "create", "all", "--tag", "all").code == 0
    assert commands("experiment", "create", "same", "--evaluator", "rejudge/latency@latest").code == 0
    ended = commands("experiment", "run", "same", "--cohort", "all@1", "--json")
    assert ended.code == 8, ended.err
    with commands.store as store:
        names = {one.id: str(one.inputs) for one in store.sessions.list() if one.origin != "replay"}
        made = {names[one.baseline_session_id]: one for one in store.replays.list()}
        assert {name: one.status for name, one in made.items()} == ENDS
        for one in made.values():
            assert one.started_at is not None and one.ended_at is not None and one.result is not None
            assert (one.ended_at - one.started_at).total_seconds() < 4 + 20
            assert one.result["output_bytes"] == (20_000_000 if one is made["prints"] else 0)
    failed = ended.document["replays"]["failed"]
    assert {one["status"] for one in failed} == {"timed_out", "crashed"} and all(one["reason"] for one in failed)
    assert not running_in(tmp_path)
