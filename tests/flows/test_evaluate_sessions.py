"""Scoring through the real command: what ends how, what is stored once, what Prefect has of it."""

from __future__ import annotations

import json
import logging
import signal
import sqlite3
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rejudge.store.evaluations import Scoring
from tests.flows.commands import Commands, end_group, evaluators, wait_until
from tests.flows.stored import store_with_sessions
from tests.replay.build import running_in

SIGNALS = ("rejudge/cost@latest", "rejudge/latency@latest", "rejudge/tool-call-patterns@latest")

ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}

MISBEHAVING = """
import os, time
TIME_LIMIT = 5
MEMORY_LIMIT = 300_000_000
def raises(session):
    if session.session.number == 3:
        raise RuntimeError("boom")
    return True
def sleeps(session):
    if session.session.number == 4:
        time.sleep(60)
    return 1.0
def exits(session):
    if session.session.number == 5:
        os._exit(3)
    return "fine"
def allocates(session):
    if session.session.number == 6:
        held = []
        while True:
            held.append(bytearray(b"x") * 20_000_000)
            time.sleep(0.01)
    return 2
"""

SLOW = """
import time
def evaluate(session):
    time.sleep(0.05)
    return 1.0
"""

FLAKY = """
import pathlib
from rejudge import EvaluationError, MissingInput
def flaky(session, *, folder: str):
    number = session.session.number
    if number == 2:
        raise MissingInput("nothing expected")
    if number == 3:
        raise EvaluationError("no key", retryable=False)
    if number == 4:
        count = pathlib.Path(folder, "count")
        tries = int(count.read_text()) if count.exists() else 0
        count.write_text(str(tries + 1))
        if tries < 2:
            raise EvaluationError("hiccup", retry_after=0.2)
    return 1.0
def down(session):
    raise EvaluationError("nobody answers")
"""


def register(commands: Commands, source: str, *names: str) -> None:
    script = commands.folder / "mine.py"
    script.write_text(source)
    with commands.store as store:
        for name in names:
            store.evaluators.register(name, script=f"{script}:{name}")


def scorings(commands: Commands, *, history: bool = False) -> Sequence[Scoring]:
    with commands.store as store:
        return store.evaluations.scorings(history=history)


def task_runs(url: str) -> Counter[str]:
    """How the task runs of a flow run are recorded, by state."""
    base, _, flow_run = url.partition("/runs/flow-run/")
    body = json.dumps({"flow_runs": {"id": {"any_": [flow_run]}}, "limit": 200}).encode()
    request = urllib.request.Request(f"{base}/api/task_runs/filter", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return Counter(one["state_type"] for one in json.load(answer))


def log(url: str) -> list[tuple[int, str]]:
    """The log of a flow run's page: levels and lines, in order."""
    base, _, flow_run = url.partition("/runs/flow-run/")
    body = json.dumps({"logs": {"flow_run_id": {"any_": [flow_run]}}, "sort": "TIMESTAMP_ASC"}).encode()
    request = urllib.request.Request(f"{base}/api/logs/filter", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return [(one["level"], one["message"]) for one in json.load(answer)]


def flow_run(url: str) -> dict[str, Any]:
    base, _, identifier = url.partition("/runs/flow-run/")
    with urllib.request.urlopen(f"{base}/api/flow_runs/{identifier}") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_each_session_and_evaluator_is_scored_once_on_either_database(twelve_anywhere: Commands) -> None:
    commands = twelve_anywhere
    first = commands("session", "evaluate", "--all", *evaluators(*SIGNALS), "--json")
    assert (first.code, first.document["scored"], first.document["reused"]) == (0, 36, 0), first.err
    again = commands("session", "evaluate", "--all", *evaluators(*SIGNALS), "--json")
    assert (again.code, again.document["scored"], again.document["reused"]) == (0, 0, 36)
    forced = commands("session", "evaluate", "1", *evaluators("rejudge/cost@latest"), "--mode", "force", "--json")
    assert (forced.code, forced.document["scored"]) == (0, 1)
    assert len(scorings(commands)) == 36
    assert len(scorings(commands, history=True)) == 37


def test_the_runs_page_says_what_was_judged_and_every_task_run_is_recorded(twelve: Commands) -> None:
    ended = twelve("session", "evaluate", "--all", *evaluators(*SIGNALS), "--json")
    url = ended.document["url"]
    found = flow_run(url)
    assert found["name"] == "all sessions by rejudge/cost@1, rejudge/latency@1, rejudge/tool-call-patterns@1"
    assert (found["state"]["name"], found["state"]["type"]) == ("AllScored", "COMPLETED")
    wait_until(lambda: set(task_runs(url)) == {"COMPLETED"})
    assert task_runs(url).total() <= 3
    row = scorings(twelve)[0]
    assert row.flow_run_id == url.rpartition("/")[2] and row.task_run_id


def test_what_an_evaluator_does_ends_its_own_scoring_only(twelve: Commands) -> None:
    register(twelve, MISBEHAVING, "raises", "sleeps", "exits", "allocates")
    names = ("raises@latest", "sleeps@latest", "exits@latest", "allocates@latest", "rejudge/latency@latest")
    ended = twelve("session", "evaluate", "--all", *evaluators(*names), "--json")
    assert ended.code == 8
    wanted = {"raises": "failed", "sleeps": "timed_out", "exits": "crashed", "allocates": "crashed"}
    ends = scorings(twelve)
    assert len(ends) == 60
    assert {one.evaluator: one.status for one in ends if one.status != "scored"} == wanted
    assert ended.document["statuses"] == {"scored": 56, "failed": 1, "timed_out": 1, "crashed": 2}
    found = flow_run(ended.document["url"])
    assert (found["state"]["name"], found["state"]["type"]) == ("DoneInPart", "FAILED")
    wait_until(lambda: any(found["state"]["message"] in line for _, line in log(ended.document["url"])))
    told = log(ended.document["url"])
    assert any(line == "60 scorings to do, of 60 on 12 sessions" for _, line in told)
    warned = {
        line.partition(" on session ")[0].removesuffix("@1") for level, line in told if level == logging.WARNING
    }
    assert warned == set(wanted)
    assert [line for _, line in told if "failed: RuntimeError: boom" in line]


def test_what_may_work_another_time_is_tried_again_on_its_own(twelve: Commands) -> None:
    register(twelve, FLAKY, "flaky")
    params = json.dumps({"folder": str(twelve.folder)})
    ended = twelve("session", "evaluate", "--all", *evaluators("flaky@1"), "--params", f"flaky@1={params}", "--json")
    with twelve.store as store:
        numbers = {one.id: one.number for one in store.sessions.list()}
    got = {numbers[one.session_id]: (one.status, one.attempts) for one in scorings(twelve)}
    assert ended.code == 8
    assert {number: got[number] for number in (1, 2, 3, 4)} == {
        1: ("scored", 1),
        2: ("missing_input", 1),
        3: ("failed", 1),
        4: ("scored", 3),
    }
    wait_until(lambda: task_runs(ended.document["url"]) == Counter(COMPLETED=2))


def test_a_backend_that_is_down_is_left_alone_after_some_tries(commands: Commands) -> None:
    store_with_sessions(commands.folder / ".rejudge" / "rejudge.db", 30).close()
    register(commands, FLAKY, "down")
    ended = commands("session", "evaluate", "--all", *evaluators("down@1"), "--json")
    assert (ended.code, ended.document["statuses"]) == (8, {"failed": 30})
    assert ended.document["not_tried_again"] == 14
    assert Counter(one.attempts for one in scorings(commands)) == {1: 14, 5: 16}


def test_killed_in_the_middle_and_run_again_nothing_is_there_twice(commands: Commands) -> None:
    store = commands.folder / ".rejudge" / "rejudge.db"
    store_with_sessions(store, 100).close()
    register(commands, SLOW, "evaluate")
    names = evaluators("evaluate@1", "rejudge/latency@latest")
    running = commands.start("session", "evaluate", "--all", *names)
    try:
        wait_until(lambda: scored(store) > 0)
        running.kill()
    finally:
        end_group(running)
    before = scored(store)
    assert 0 < before < 200
    killed = {one.flow_run_id for one in scorings(commands)}
    again = commands("session", "evaluate", "--all", *names, "--json")
    assert (again.code, again.document["reused"], again.document["scored"]) == (0, before, 200 - before)
    page = again.document["url"].rpartition("/")[0]
    assert {flow_run(f"{page}/{one}")["state"]["type"] for one in killed} == {"CRASHED"}
    wait_until(lambda: all(set(task_runs(f"{page}/{one}")) <= ENDED for one in killed))
    pairs = Counter((one.session_id, one.evaluator) for one in scorings(commands, history=True))
    assert len(pairs) == 200 and set(pairs.values()) == {1}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_interrupted_it_stops_at_once_and_keeps_what_was_finished(commands: Commands, number: signal.Signals) -> None:
    store = commands.folder / ".rejudge" / "rejudge.db"
    store_with_sessions(store, 100).close()
    register(commands, SLOW, "evaluate")
    running = commands.start("session", "evaluate", "--all", *evaluators("evaluate@1"))
    try:
        wait_until(lambda: scored(store) > 0)
        running.send_signal(number)
        assert running.wait(timeout=60) == 130
    finally:
        end_group(running)
    statuses = Counter(one.status for one in scorings(commands))
    assert set(statuses) == {"scored"} and 0 < statuses["scored"] < 100
    wait_until(lambda: not running_in(commands.folder), seconds=20)


def test_a_proxy_for_the_world_is_not_asked_for_a_server_on_this_machine(twelve: Commands) -> None:
    reachable = {name: value for name, value in twelve.environment.items() if name.lower() != "no_proxy"}
    behind = replace(
        twelve, environment={**reachable, "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "corp.example"}
    )
    ended = behind("session", "evaluate", "--all", *evaluators(*SIGNALS), "--json")
    assert (ended.code, ended.document["scored"]) == (0, 36), ended.err


def test_without_a_server_the_temporary_one_is_drained(twelve: Commands, home: Path) -> None:
    ended = twelve("session", "evaluate", "--all", *evaluators(*SIGNALS), "--ephemeral", "--json")
    assert (ended.code, ended.document["scored"], ended.document["url"]) == (0, 36, None), ended.err
    with sqlite3.connect(home / "prefect" / "prefect.db", timeout=30) as connection:
        query = "SELECT state_type, COUNT(*) FROM task_run WHERE flow_run_id = ? GROUP BY 1"
        recorded = dict(connection.execute(query, (ended.document["flow_run_id"],)))
    connection.close()
    assert set(recorded) == {"COMPLETED"} and sum(recorded.values()) >= 1


def scored(store: Path) -> int:
    with sqlite3.connect(store, timeout=30) as connection:
        count = connection.execute("SELECT COUNT(*) FROM scoring").fetchone()[0]
    connection.close()
    return int(count)


WAITING = """
import json, pathlib, time
MODE = "slow"
PROVIDER = "desk"
def evaluate(session, *, folder: str):
    began = time.time()
    time.sleep(0.15)
    name = pathlib.Path(folder, "span-" + session.session.id)
    name.write_text(json.dumps([began, time.time()]))
    return 1.0
"""


def spans_of_waiting_calls(twelve: Commands) -> Path:
    """Twelve calls of a slow evaluator, each with its begin and end in a file of this folder."""
    spans = twelve.folder / "spans"
    spans.mkdir()
    register(twelve, WAITING, "evaluate")
    params = json.dumps({"folder": str(spans)})
    ended = twelve(
        "session", "evaluate", "--all", *evaluators("evaluate@1"), "--params", f"evaluate@1={params}", "--json"
    )
    assert (ended.code, ended.document["scored"]) == (0, 12), ended.out
    return spans


@pytest.mark.parametrize(
    ("workers", "limit", "most"),
    [(1, None, 8), (2, 2, 2)],
    ids=["several at once in a chunk", "a global limit of 2 over two chunks"],
)
def test_slow_evaluators_wait_together_within_the_limit_of_their_backend(
    twelve: Commands, workers: int, limit: int | None, most: int, served: Commands
) -> None:
    twelve = replace(twelve, environment={**twelve.environment, "REJUDGE_WORKERS": str(workers)})
    api = served("up", "--json").document["api_url"]
    if limit is not None:
        post(f"{api}/v2/concurrency_limits/", {"name": "rejudge-desk", "limit": limit})
    try:
        spans = spans_of_waiting_calls(twelve)
        assert 1 < most_at_once(spans) <= most
    finally:
        if limit is not None:
            post(f"{api}/v2/concurrency_limits/rejudge-desk", None)


def test_slow_evaluators_begin_no_faster_than_the_rate_of_their_backend(twelve: Commands, served: Commands) -> None:
    api = served("up", "--json").document["api_url"]
    post(f"{api}/v2/concurrency_limits/", {"name": "rejudge-desk", "limit": 2, "slot_decay_per_second": 4})
    try:
        spans = spans_of_waiting_calls(twelve)
    finally:
        post(f"{api}/v2/concurrency_limits/rejudge-desk", None)
    began = sorted(json.loads(file.read_text())[0] for file in spans.iterdir())
    # Two slots at once, and a quarter of a second for each one after them. Where the first calls are on their way
    # for long, two more slots are free by then; without a rate all are begun in some 0.3 s.
    assert began[-1] - began[0] > 0.6 * (12 - 2) / 4


def most_at_once(folder: Path) -> int:
    """The largest number of calls that were in flight together."""
    events = []
    for file in folder.iterdir():
        began, ended = json.loads(file.read_text())
        events += [(began, 1), (ended, -1)]
    now = most = 0
    for _, change in sorted(events):
        now += change
        most = max(most, now)
    return most


def post(url: str, body: dict[str, Any] | None) -> None:
    """Send a document, or delete what is there."""
    data = None if body is None else json.dumps(body).encode()
    method = "DELETE" if body is None else "POST"
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    urllib.request.urlopen(request).close()
