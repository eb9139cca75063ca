"""The judge in a batch, through the real command, against a server that misbehaves in every way real ones do."""

from __future__ import annotations

import json
import random
import re
import urllib.request
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.flows.commands import Commands, environment, evaluators
from tests.flows.stored import store_with_sessions
from tests.model_server import (
    ModelServer,
    Reply,
    Request,
    cut_off,
    dropped,
    malformed,
    says,
    says_json,
    status,
)

SESSIONS = 200
RATE = 40.0
SECRET = "sk-judge-0f9c3b71d2"
ASKED = {"resolved": {"type": "yes_no", "ask": "Was the question answered?", "fields": ["request", "answer"]}}
TROUBLES = [
    status(500, "oops"),
    status(503, retry_after=0.3),
    dropped(),
    cut_off(),
    malformed(),
    says("I would say yes"),
    says_json({"resolved": {"reason": "?", "probability_yes": 7}}),
    says("", finish_reason="length"),
    says_json({"resolved": {"reason": "late", "probability_yes": 0.9}}, delay=8),
]


def truth(order: int) -> bool:
    return order % 7 != 0


def refused_for_ever(order: int) -> bool:
    return order % 50 == 0


class Misbehaving:
    """Answers truly in the end, but for what happens on the way."""

    def __init__(self) -> None:
        self.seen: Counter[int] = Counter()

    def __call__(self, request: Request) -> Reply:
        found = re.search(r"order (\d+)", request.text)
        assert found
        order = int(found[1])
        self.seen[order] += 1
        if refused_for_ever(order):
            return status(400, f"refused for ever, says {SECRET}")
        if order % 10 == 3 and self.seen[order] == 1:
            return random.Random(order).choice(TROUBLES)
        return says_json({"resolved": {"reason": "looked", "probability_yes": 0.95 if truth(order) else 0.05}})


@pytest.fixture(scope="module")
def judged(home: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Commands, Any, ModelServer]:
    """A batch of sessions that the judge was asked about, its report, and the server's log."""
    folder = tmp_path_factory.mktemp("judged")
    store_with_sessions(folder / ".rejudge" / "rejudge.db", SESSIONS, nodes=2).close()
    params = json.dumps({"questions": ASKED, "timeout": 6})
    with ModelServer(Misbehaving(), rate=RATE) as server:
        surroundings = {**environment(home), **server.environment(), "REJUDGE_JUDGE_API_KEY": SECRET}
        commands = Commands(folder, surroundings)
        ended = commands(
            *("session", "evaluate", "--all", "--json"),
            *evaluators("rejudge/judge@latest"),
            *("--params", f"rejudge/judge@latest={params}"),
        )
    assert ended.code == 8, ended.err
    assert SECRET not in ended.out + ended.err
    return commands, ended.document, server


def test_every_scoring_is_right_or_unscored_with_its_reason(judged: tuple[Commands, Any, ModelServer]) -> None:
    commands, report, _ = judged
    with commands.store as store:
        numbers = {one.id: one.number for one in store.sessions.list()}
        rows = {numbers[row.session_id]: row for row in store.evaluations.list()}
        ends = {numbers[one.session_id]: one for one in store.evaluations.scorings()}
    assert (len(ends), report["statuses"]) == (SESSIONS, {"scored": SESSIONS - 4, "failed": 4})
    for order, end in ends.items():
        if refused_for_ever(order):
            assert end.status == "failed" and "(400): refused for ever" in str(end.error)
        else:
            assert (rows[order].score, rows[order].passed) == (truth(order), truth(order)), order
    assert {one["status"] for one in report["unscored"]} == {"failed"}


def test_cost_tokens_and_model_stand_on_the_rows(judged: tuple[Commands, Any, ModelServer]) -> None:
    commands, _, _ = judged
    with commands.store as store:
        rows, ends = store.evaluations.list(), store.evaluations.scorings(statuses=["scored"])
    paid = {(row.model, row.input_tokens, row.output_tokens, row.cost) for row in rows}
    assert paid == {("gpt-4o-mini", 100, 20, Decimal("0.000027"))}
    assert {one.cost for one in ends} == {Decimal("0.000027")}


def test_the_server_is_asked_no_faster_than_it_allows(judged: tuple[Commands, Any, ModelServer]) -> None:
    _, _, server = judged
    taken = len(server.requests) - server.refused
    assert taken >= SESSIONS
    assert 0 < server.refused < taken / 2


def test_what_went_wrong_on_the_way_was_tried_again_in_task_runs_of_its_own(
    judged: tuple[Commands, Any, ModelServer],
) -> None:
    commands, report, _ = judged
    with commands.store as store:
        ends = store.evaluations.scorings()
    base, _, flow_run = report["url"].partition("/runs/flow-run/")
    names = [name for name in task_run_names(base, flow_run) if name.startswith("again: rejudge/judge@1 on session ")]
    troubled = {one.session_id for one in ends if one.attempts > 1}
    assert {name.rpartition(" ")[2] for name in names} == troubled
    assert 15 <= len(troubled) <= 40


def task_run_names(base: str, flow_run: str) -> list[str]:
    body = json.dumps({"flow_runs": {"id": {"any_": [flow_run]}}, "limit": 200}).encode()
    request = urllib.request.Request(f"{base}/api/task_runs/filter", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return [one["name"] for one in json.load(answer)]


def test_the_key_is_nowhere(judged: tuple[Commands, Any, ModelServer], home: Path) -> None:
    commands, _, _ = judged
    files = [path for folder in (commands.folder, home) for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
