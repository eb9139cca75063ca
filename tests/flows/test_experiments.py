"""Experiments through the real command: gates as final states, interrupted runs, reports."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections import Counter
from typing import Any

import pytest

from rejudge.report.html import embedded
from rejudge.store.engine import Database
from tests.api.replays import lines, record, register
from tests.flows.commands import Commands, end_group, wait_until
from tests.replay.build import running_in

DESK = """
    import os, time
    from rejudge.replay import model_call

    def answer(request):
        kind = os.environ.get("SECOND", "good") if request.model == "new" else "good"
        return f"a {kind} answer to {request.messages[0]['parts'][0]['content']}"

    def run(inputs, context=None):
        with open("began", "a") as log:
            log.write(f"{inputs} {context.trial if context else 0}\\n")
        if os.path.exists("slow"):
            time.sleep(600)
        return model_call("desk", inputs, answer).text
"""
GOOD = """
from rejudge import EvaluationResult
def evaluate(session):
    good = "good" in str(session.session.outputs)
    return EvaluationResult(name="good", score=good, passed=good, direction="higher")
"""
GATE = '[gate]\n[[gate.rule]]\nmetric = "good@latest:good"\nrule = "min-pass-rate"\nvalue = 0.5\non = "point"\n'
SESSIONS = 4


@pytest.fixture
def desk(commands: Commands) -> Commands:
    """The cohort all@1 of the agent desk, an evaluator and a gate."""
    with commands.store as store:
        return filled(store.database, commands)


@pytest.fixture
def desk_anywhere(commands_anywhere: Commands, database: Database) -> Commands:
    """The same on SQLite and on PostgreSQL."""
    return filled(database, commands_anywhere)


def filled(database: Database, commands: Commands) -> Commands:
    folder = commands.folder
    ids = [record(database, folder, DESK, inputs=f"question {number}") for number in range(SESSIONS)]
    (folder / "began").unlink()
    (folder / "good.py").write_text(GOOD)
    (folder / "gate.toml").write_text(GATE)
    with commands.store as store:
        store.evaluators.register("good", script=f"{folder / 'good.py'}:evaluate")
        store.cohorts.create("all", ids=tuple(ids))
    made = commands("experiment", "create", "new-model", "--model", "new", "--evaluator", "good@latest")
    assert made.code == 0, made.err
    return commands


def flow_run(commands: Commands, report: dict[str, Any]) -> dict[str, Any]:
    """The flow run that judged a run, as Prefect has it."""
    with commands.store as store:
        identifier = store.experiments.get_run(report["run"]).flow_run_id
    api = commands("up", "--json").document["api_url"]
    with urllib.request.urlopen(f"{api}/flow_runs/{identifier}") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def test_a_gate_is_the_runs_final_state_and_the_reports_hold_the_same(desk_anywhere: Commands) -> None:
    desk = desk_anywhere
    words = ("experiment", "run", "new-model", "--cohort", "all@1", "--trials", "2", "--gate", "gate.toml")
    passed = desk(*words, "--json", "--margin", "0.1", "--html", "passed.html")
    assert passed.code == 0, passed.err
    assert passed.document["gate"]["outcome"] == "passed"
    assert passed.document["replays"] == {"completed": 2 * SESSIONS, "failed": [], "refused": []}
    with desk.store as store:
        register(store.database, desk.folder, DESK.replace('"good")', '"bad")'))
    failed = desk(*words, "--agent", "desk@2", "--json", "--margin", "0.1")
    assert (failed.code, failed.document["gate"]["outcome"]) == (1, "failed"), failed.err
    runs = [flow_run(desk, one.document) for one in (passed, failed)]
    assert [(run["state_name"], run["state_type"]) for run in runs] == [
        ("GatePassed", "COMPLETED"),
        ("GateFailed", "FAILED"),
    ]
    assert "gate failed" in runs[1]["state"]["message"]
    assert failed.document["url"].endswith(f"/runs/flow-run/{runs[1]['id']}")
    again = desk(
        "experiment", "compare", "new-model@2", "--gate", "gate.toml", "--margin", "0.1", "--html", "two.html"
    )
    assert again.code == 1
    digests = [embedded((desk.folder / name).read_text()).digest for name in ("passed.html", "two.html")]
    assert digests == [passed.document["digest"], failed.document["digest"]]


def test_what_cannot_be_decided_or_reported_is_refused_before_anything_runs(desk: Commands) -> None:
    words = ("experiment", "run", "new-model", "--cohort", "all@1")
    (desk.folder / "other.toml").write_text(GATE.replace("good@latest", "good@7"))
    refused = [desk(*words, "--gate", "other.toml"), desk(*words, "--detach", "--html", "report.html")]
    assert [one.code for one in refused] == [2, 2]
    assert "judged by good@1" in refused[0].err and "does not wait" in refused[1].err
    with desk.store as store:
        assert (list(store.experiments.runs()), list(store.replays.list())) == ([], [])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "interrupted"])
def test_a_run_that_was_ended_is_taken_up_where_it_was(desk: Commands, number: signal.Signals) -> None:
    words = ("experiment", "run", "new-model", "--cohort", "all@1", "--trials", "2")
    (desk.folder / "slow").touch()
    running = desk.start(*words)
    try:
        wait_until(lambda: bool(lines(desk.folder / "began")))
        running.send_signal(number)
        assert running.wait(timeout=60) == (-9 if number is signal.SIGKILL else 130)
    finally:
        end_group(running)
    wait_until(lambda: not running_in(desk.folder), seconds=20)
    (desk.folder / "slow").unlink()
    (desk.folder / "began").unlink()
    ended = desk(*words, "--json")
    assert (ended.code, ended.document["run"]) == (0, "new-model@1"), ended.err
    assert Counter(lines(desk.folder / "began")) == {
        f"question {number} {trial}": 1 for number in range(SESSIONS) for trial in (1, 2)
    }
    with desk.store as store:
        assert Counter(one.status for one in store.replays.list()) == {"completed": 2 * SESSIONS}
        assert sum(one.origin == "replay" for one in store.sessions.list()) == 2 * SESSIONS
        assert [one.status for one in store.experiments.runs()] == ["completed"]
