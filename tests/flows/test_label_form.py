"""Labels by the form of a paused run: what its page asks, what an answer stores."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.flows.commands import Commands, end_group, wait_until

ASKING = """
from rejudge.flows.label_sessions import label_sessions
from rejudge.models.requests import LabelRequest
from rejudge.models.selection import Selection
request = LabelRequest(
    selection=Selection(ids=("1", "2", "3", "4")), name="human_quality", question="Is it *right*?", author="ann"
)
print(label_sessions(request, return_state=True).message)
"""


@pytest.fixture
def asking(twelve: Commands, served: Commands) -> Iterator[tuple[Commands, subprocess.Popen[str], str]]:
    """A run that asks for labels of four sessions, one of which has one; and the server's address."""
    with twelve.store as store:
        store.labels.add(3, name="human_quality", passed=True)
    api = served("up", "--json").document["api_url"]
    process = subprocess.Popen(
        [sys.executable, "-c", ASKING],
        cwd=twelve.folder,
        env={**twelve.environment, "PREFECT_API_URL": api},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield twelve, process, api
    finally:
        end_group(process)


def test_each_answer_is_a_label(asking: tuple[Commands, subprocess.Popen[str], str]) -> None:
    commands, process, api = asking
    first = paused(api, process, 1)
    assert "Session 1, 1 of 3" in form_of(api, first) and "Order 1 is on its way" in form_of(api, first)
    answer(api, first, passed=True, explanation="Correct, good tone")
    answer(api, paused(api, process, 2), passed=False, skip=True)
    answer(api, paused(api, process, 3), passed=False)
    out, err = process.communicate(timeout=120)
    assert "2 labels human_quality" in out, err
    with commands.store as store:
        numbers = {one.id: one.number for one in store.sessions.list()}
        labels = {numbers[one.session_id]: one for one in store.labels.list(name="human_quality")}
    assert {number: (one.score, one.passed, one.explanation, one.author) for number, one in labels.items()} == {
        1: (True, True, "Correct, good tone", "ann"),
        3: (True, True, None, None),
        4: (False, False, None, "ann"),
    }


def paused(api: str, process: subprocess.Popen[str], pause: int) -> dict[str, Any]:
    """The flow run, once it has paused for the so-manieth time."""
    found: list[dict[str, Any]] = []

    def is_paused() -> bool:
        assert process.poll() is None, process.communicate()
        found[:] = ask(
            f"{api}/flow_runs/filter",
            {"flow_runs": {"state": {"type": {"any_": ["PAUSED"]}}}, "flows": {"name": {"any_": ["label-sessions"]}}},
        )
        there = bool(found) and found[0]["state"]["state_details"]["pause_key"] == f"label-{pause}"
        return there and has_form(api, found[0])

    wait_until(is_paused, seconds=120)
    return found[0]


def has_form(api: str, run: dict[str, Any]) -> bool:
    """Whether the form is there too: Prefect stores it after the run has paused."""
    try:
        return bool(form_of(api, run))
    except urllib.error.HTTPError as error:
        if error.code != 404:
            raise
        return False


def form_of(api: str, run: dict[str, Any]) -> str:
    """What the run's page shows above the form."""
    keys = run["state"]["state_details"]["run_input_keyset"]
    with urllib.request.urlopen(f"{api}/flow_runs/{run['id']}/input/{keys['description']}") as answered:
        return str(json.load(answered))


def answer(api: str, run: dict[str, Any], **fields: Any) -> None:
    said = ask(f"{api}/flow_runs/{run['id']}/resume", {"run_input": fields})
    assert said["status"] == "ACCEPT", said


def ask(url: str, body: Any) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answered:
        return json.load(answered)
