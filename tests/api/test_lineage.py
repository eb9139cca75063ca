"""Where sessions come from, and two of them side by side, on both databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from rejudge.api import replaying
from rejudge.api.sessions import Sessions
from rejudge.errors import NotFound, UsageError
from rejudge.models.lineage import Lineage
from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.requests import ReplayRequest
from rejudge.store.engine import Database
from tests.api.replays import TALK, record

TAPED = PolicySet(models_default=HistoryPolicy())


@pytest.fixture
def family(database: Database, tmp_path: Path) -> Database:
    """Session 1; an unchanged replay 2 of it; a fork 3 of the replay; a replay of 1 that never ran; a stranger 4."""
    record(database, tmp_path, TALK)
    for request in (
        ReplayRequest(session="1", policies=TAPED),
        ReplayRequest(session="2", override=Override(model="new", prompt="bye"), fork_point="tool:look#3", trial=2),
    ):
        replay, _ = replaying.ask(database, request)
        replaying.perform(database, replay.id)
    replaying.ask(database, ReplayRequest(session="1", fork_point="7"))
    record(database, tmp_path, TALK, name="stranger")
    return database


def test_a_tree_holds_the_whole_family_from_whatever_member(family: Database) -> None:
    trees = [Sessions(family).tree(number) for number in (1, 2, 3)]
    assert trees[0] == trees[1] == trees[2]
    root = trees[0]
    assert [(one.number, one.origin, one.status) for one in root.walk()] == [
        (1, "recorded", "completed"),
        (2, "replay", "completed"),
        (3, "replay", "completed"),
        (None, "replay", "pending"),
    ]
    assert root.replay is None and [one.number for one in root.children] == [2, None]
    assert Sessions(family).tree(4).children == ()


def test_a_fork_is_told_with_its_change_its_point_and_its_trial(family: Database) -> None:
    tree = Sessions(family).tree(1)
    [fork], [_, waiting] = tree.children[0].children, tree.children
    assert fork.replay is not None and waiting.replay is not None
    assert (fork.agent, fork.agent_version, fork.replay.trial) == ("desk", 1, 2)
    assert fork.replay.override == {"model": "new", "prompt": "bye"}
    assert (fork.replay.fork_point, waiting.replay.fork_point) == ("6 tool look", "7 model desk")
    assert Lineage.model_validate_json(tree.model_dump_json()) == tree


def test_two_sessions_part_at_the_row_that_the_divergence_names(family: Database) -> None:
    sessions = Sessions(family)
    same = sessions.diff(1, 2)
    assert (same.divergence, same.first, same.counts, same.same_output) == (None, None, {"same": 12}, True)
    forked = sessions.diff(2, 3)
    assert forked.divergence is not None and forked.first == forked.divergence.step == 6
    assert [step.state for step in forked.steps[:6]] == ["same"] * 6
    first = forked.steps[6]
    assert (first.state, [one.path for one in first.differences]) == ("changed", ["/model", "/messages/0"])
    assert all(step.answered for step in forked.steps[:6]) and not first.answered


def test_what_is_not_there_or_given_twice_is_refused(family: Database) -> None:
    with pytest.raises(NotFound):
        Sessions(family).diff(1, 99)
    with pytest.raises(NotFound):
        Sessions(family).tree(99)
    with pytest.raises(UsageError, match="twice"):
        Sessions(family).diff(1, 1)
