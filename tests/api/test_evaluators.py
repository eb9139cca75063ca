"""Evaluators and what they gave, from Python, on both databases; batches are shown under tests/flows."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest

from rejudge.api import Store
from rejudge.errors import NotFound, UsageError
from rejudge.models.evaluation import EvaluationResult
from rejudge.store.engine import Database, connect
from rejudge.store.evaluators import register_evaluator
from rejudge.store.scorings import Ended, Requested, write_ended
from tests.flows.stored import fill, session_view

SCRIPT = """
def evaluate(session, *, most: int = 1):
    return len(session.tool_calls) <= most
"""
WRITERS = 20


@pytest.fixture
def store(database: Database) -> Store:
    fill(database, 3)
    return Store(database)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "few.py"
    path.write_text(SCRIPT)
    return path


def test_an_evaluator_is_tried_on_stored_sessions_and_on_views(store: Store, script: Path) -> None:
    outcomes = store.evaluators.test(script, sessions=[1, "2", session_view(9, 8)])
    assert [outcome.results[0]["score"] for outcome in outcomes] == [False, False, False]
    [outcome] = store.evaluators.test(script, sessions=[3], params={"most": 2})
    assert outcome.results[0]["score"] is True
    assert store.evaluations.scorings() == []
    with pytest.raises(NotFound, match="no session '7'"):
        store.evaluators.test(script, sessions=[7])


def test_registering_says_which_version_it_is(store: Store, script: Path) -> None:
    first = store.evaluators.register("few", script=script)
    script.write_text(SCRIPT.replace("most: int = 1", "most: int = 2"))
    second = store.evaluators.register("few", script=script)
    script.write_text(SCRIPT)
    again = store.evaluators.register("few", script=script)
    assert [(one.version.number, one.created, one.latest) for one in (first, second, again)] == [
        (1, True, 1),
        (2, True, 2),
        (1, False, 2),
    ]
    assert second.changes == ("code: the script changed", "parameters: most 1 became 2")
    assert [store.evaluators.get(reference).number for reference in ("few", "few@latest", "few@1")] == [2, 2, 1]


@pytest.mark.parametrize("same", [True, False], ids=["the same content", "other content"])
def test_a_race_to_register_gives_every_content_one_number(database_url: str, same: bool) -> None:
    barrier, ends = threading.Barrier(WRITERS), Counter[int]()
    created: list[bool] = []

    def write(number: int) -> None:
        mine = connect(database_url)
        barrier.wait()
        version, new = register_evaluator(mine, "few", "f" if same else f"f{number}", {"content": number})
        ends[version.number] += 1
        created.append(new)
        mine.close()

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ends == ({1: WRITERS} if same else dict.fromkeys(range(1, WRITERS + 1), 1))
    assert sum(created) == (1 if same else WRITERS)


def test_rows_are_read_by_session_evaluator_and_version(store: Store, script: Path) -> None:
    sessions = store.sessions.list(ids=[1, 2])
    for number in (1, 2):
        script.write_text(SCRIPT.replace("most: int = 1", f"most: int = {number}"))
        version = store.evaluators.register("few", script=script).version
        by = Requested("few", version.number, version.fingerprint, {}, "p")
        result = EvaluationResult(name="few", score=number)
        write_ended(store.database, [Ended(one.id, one.digest, by, "scored", [result]) for one in sessions])
    scores = {
        reference: [row.score for row in store.evaluations.list(session=1, evaluator=reference)]
        for reference in ("few", "few@1", "few@latest")
    }
    assert scores == {"few": [1.0, 2.0], "few@1": [1.0], "few@latest": [2.0]}
    assert len(store.evaluations.scorings(evaluator="few@latest")) == 2
    store.evaluators.delete("few")
    assert [row.score for row in store.evaluations.list(session=2, evaluator="few@latest")] == [2.0]


def test_params_for_nobody_are_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="params are for 'few', which is not among the evaluators"):
        store.evaluations.create(all=True, evaluators=["rejudge/cost"], params={"few": {"most": 1}})
    with pytest.raises(UsageError, match="connections are for 'few'"):
        store.evaluations.create(all=True, evaluators=["rejudge/cost"], connections={"few": "night"})
    with pytest.raises(UsageError, match="has no parameter 'limit'"):
        store.evaluations.create(all=True, evaluators=["rejudge/cost"], params={"rejudge/cost": {"limit": 1}})
