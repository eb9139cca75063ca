"""Scorings: exactly once, and all rows of the newest one together."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from rejudge.errors import Conflict
from rejudge.models import EvaluationResult
from rejudge.store.engine import Database
from rejudge.store.evaluations import Label, Wanted, add_labels, list_evaluations, list_scorings
from rejudge.store.scorings import Ended, Requested, settled, write_ended
from rejudge.store.selecting import list_sessions
from rejudge.store.writing import Placement, save_recordings
from tests.store.build import make_recording

COST = Requested("cost-check", 1, "f1", {}, "p0")


@pytest.fixture
def scored(database: Database) -> Ended:
    """A scoring, not yet stored, of the one session in the store."""
    [saved] = save_recordings(database, [make_recording()], Placement(agent="support"))
    [session] = list_sessions(database)
    result = EvaluationResult(name="cost", score=0.5, max_score=1, evidence={"nodes": ["span-0"]})
    return Ended(saved.session_id, session.digest, COST, "scored", [result], duration_seconds=0.01)


def test_a_scoring_is_stored_once(database: Database, scored: Ended) -> None:
    assert write_ended(database, [scored]) == 1
    assert write_ended(database, [scored]) == 0
    [row] = list_evaluations(database, Wanted())
    assert (row.name, row.score, row.evaluator, row.evaluator_version) == ("cost", 0.5, "cost-check", 1)
    assert row.evidence == {"nodes": ["span-0"]}
    assert settled(database, [scored.session_id], COST) == {scored.session_id: True}


def test_a_failed_scoring_is_tried_again_and_replaced(database: Database, scored: Ended) -> None:
    write_ended(database, [replace(scored, status="failed", results=(), error="boom")])
    assert settled(database, [scored.session_id], COST) == {}
    write_ended(database, [scored])
    [row] = list_scorings(database, Wanted(history=True))
    assert (row.status, row.attempts, row.error) == ("scored", 2, None)


def test_what_cannot_be_scored_is_settled_without_a_score(database: Database, scored: Ended) -> None:
    write_ended(database, [replace(scored, status="missing_input", results=(), error="nothing expected")])
    assert settled(database, [scored.session_id], COST) == {scored.session_id: False}


def test_force_adds_a_repetition_and_the_newest_counts(database: Database, scored: Ended) -> None:
    write_ended(database, [scored])
    other = replace(scored, results=[EvaluationResult(name="cost", score=0.75)])
    assert write_ended(database, [other], force=True) == 1
    assert [row.score for row in list_evaluations(database, Wanted())] == [0.75]
    assert [row.score for row in list_evaluations(database, Wanted(history=True))] == [0.5, 0.75]


def test_other_params_or_a_late_span_open_the_session_again(database: Database, scored: Ended) -> None:
    write_ended(database, [scored])
    assert settled(database, [scored.session_id], replace(COST, params_digest="p1")) == {}
    save_recordings(database, [make_recording(steps=5)], Placement(agent="support"))
    assert settled(database, [scored.session_id], COST) == {}


def test_bools_come_back_as_bools(database: Database, scored: Ended) -> None:
    write_ended(database, [replace(scored, results=[EvaluationResult(name="ok", score=True, passed=True)])])
    [row] = list_evaluations(database, Wanted())
    assert row.score is True and row.data_type == "bool"


def test_labels_are_unique_in_their_session_and_all_or_nothing(database: Database, scored: Ended) -> None:
    quality = Label(scored.session_id, EvaluationResult(name="quality", score=True), author="ada")
    tone = Label(scored.session_id, EvaluationResult(name="tone", value="warm"))
    add_labels(database, [quality])
    with pytest.raises(Conflict, match="'quality'"):
        add_labels(database, [tone, quality])
    assert [row.name for row in list_evaluations(database, Wanted(labels=True))] == ["quality"]


def test_of_twenty_writers_of_one_label_one_wins(database: Database, scored: Ended) -> None:
    outcomes: list[str] = []
    barrier = threading.Barrier(20)

    def write(author: str) -> None:
        barrier.wait()
        try:
            add_labels(database, [Label(scored.session_id, EvaluationResult(name="q", score=1), author)])
            outcomes.append("won")
        except Conflict:
            outcomes.append("conflict")

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["conflict"] * 19 + ["won"]
