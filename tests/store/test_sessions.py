"""Storing and reading sessions."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlalchemy import func, select

from rejudge.errors import NotFound, UsageError
from rejudge.models.selection import Selection
from rejudge.store.engine import Database
from rejudge.store.reading import load_views
from rejudge.store.selecting import list_sessions, select_sessions
from rejudge.store.tables import core
from rejudge.store.writing import Placement, save_recordings
from tests.store.build import make_recording

PLACE = Placement(agent="support", tags=("monday",))


def test_a_session_comes_back_as_it_was_stored(database: Database) -> None:
    recording = make_recording(steps=4)
    [saved] = save_recordings(database, [recording], PLACE)
    [view] = load_views(database, [saved.session_id])
    assert saved.outcome == "new"
    assert view.session.inputs == recording.view.session.inputs
    assert view.session.cost == Decimal("0.0012")
    assert (view.session.agent, view.session.tags, view.session.number) == ("support", ("monday",), 1)
    assert [node.decoded() for node in view.nodes] == list(recording.view.nodes)


def test_the_same_session_again_is_unchanged_and_another_digest_updates_it(database: Database) -> None:
    [first] = save_recordings(database, [make_recording(steps=2)], PLACE)
    [again] = save_recordings(database, [make_recording(steps=2)], PLACE)
    [late] = save_recordings(database, [make_recording(steps=5)], PLACE)
    assert [again.outcome, late.outcome] == ["unchanged", "updated"]
    assert {first.session_id, again.session_id, late.session_id} == {first.session_id}
    [view] = load_views(database, [first.session_id])
    assert len(view.nodes) == 5


def test_an_update_leaves_no_payload_behind(database: Database) -> None:
    save_recordings(database, [make_recording(steps=2)], PLACE)
    save_recordings(database, [make_recording(steps=5)], PLACE)
    with database.read() as connection:
        packs = connection.execute(select(func.count()).select_from(core.packs)).scalar_one()
        nodes = connection.execute(select(func.count()).select_from(core.nodes)).scalar_one()
    assert (packs, nodes) == (1, 5)


def test_agents_do_not_share_sessions(database: Database) -> None:
    save_recordings(database, [make_recording()], PLACE)
    [other] = save_recordings(database, [make_recording()], Placement(agent="sales"))
    assert other.outcome == "new"
    assert [one.agent for one in list_sessions(database)] == ["support", "sales"]


def test_a_fork_shares_the_payloads_of_its_prefix(database: Database) -> None:
    [base] = save_recordings(database, [make_recording(steps=6)], PLACE)
    placement = Placement(agent="support", origin="replay", parent_session_id=base.session_id)
    [fork] = save_recordings(database, [make_recording("fork", steps=6)], placement)
    with database.read() as connection:
        assert connection.execute(select(func.count()).select_from(core.packs)).scalar_one() == 1
    [view] = load_views(database, [fork.session_id])
    assert [node.inputs for node in view.nodes] == [node.inputs for node in make_recording(steps=6).view.nodes]
    assert view.baseline is not None and view.baseline.outputs == "It is on its way."


def test_replaced_sessions_are_folded_into_one_that_keeps_its_number(database: Database) -> None:
    first, second = save_recordings(database, [make_recording("t1"), make_recording("t2")], PLACE)
    whole = make_recording("conversation", steps=6)
    merged = type(whole)(whole.view, whole.trace_ids, whole.spans, (first.session_id, second.session_id))
    [saved] = save_recordings(database, [merged], PLACE)
    assert (saved.session_id, saved.outcome) == (first.session_id, "updated")
    assert [(one.number, one.external_id) for one in list_sessions(database)] == [(1, "conversation")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('status == "completed"', [1, 2]),
        ('status == "failed"', []),
        ("node_count > 3 and cost > 0.001", [2]),
        ("3 < node_count", [2]),
        ("cost > 0.1", []),
        ('"lookup_order" in tool_names', [1, 2]),
        ('"gpt-4o-mini" in models and not ("monday" in tags)', []),
        ('"trace" in external_id or complete', [1, 2]),
        ('agent in ["support", "sales"]', [1, 2]),
        ("error is None", [1, 2]),
        ('started_at >= "2026-05-01"', [1, 2]),
        ('started_at > "2026-05-02T00:00:00+00:00"', []),
    ],
)
def test_filters_select_by_fields(database: Database, text: str, found: list[int]) -> None:
    save_recordings(database, [make_recording("trace-a", steps=2), make_recording("trace-b", steps=5)], PLACE)
    assert [one.number for one in list_sessions(database, Selection(filter=text))] == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("statsu == 1", "did you mean status?"),
        ("__import__('os').system('true')", "is no comparison"),
        ("status == open('x')", "is no plain value"),
        ("status ==", "cannot be read"),
        ("cost == 'much'", "cannot be compared"),
        ("tool_names == 1", 'write "value" in tool_names'),
        (r'name == "\0"', "that no session can hold"),
        (r'"\ud800" in tags', "that no session can hold"),
        ("number == 9223372036854775808", "larger than any number"),
        ("number in [1, -9223372036854775809]", "larger than any number"),
    ],
)
def test_a_filter_that_cannot_be_read_says_why(database: Database, text: str, said: str) -> None:
    with pytest.raises(UsageError, match="filter") as refusal:
        list_sessions(database, Selection(filter=text))
    assert said in refusal.value.message


def test_sessions_are_named_by_number_id_or_beginning(database: Database) -> None:
    [saved] = save_recordings(database, [make_recording()], PLACE)
    for name in ("1", saved.session_id, saved.session_id[:13]):
        assert select_sessions(database, Selection(ids=(name,))).session_ids == (saved.session_id,)
    with pytest.raises(UsageError, match="given twice"):
        select_sessions(database, Selection(ids=("1", saved.session_id)))
    with pytest.raises(NotFound, match="no session '7'"):
        select_sessions(database, Selection(ids=("7",)))


def test_a_selection_that_matches_nothing_is_not_found(database: Database) -> None:
    with pytest.raises(NotFound, match="tag friday"):
        select_sessions(database, Selection(tag="friday"))


def test_sessions_in_progress_are_left_out_and_counted(database: Database) -> None:
    save_recordings(database, [make_recording("a"), make_recording("b", status="in_progress")], PLACE)
    selected = select_sessions(database, Selection(all=True))
    assert (len(selected.session_ids), selected.in_progress) == (1, 1)
