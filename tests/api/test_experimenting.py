"""Experiment runs against the store: taken up where they were, members that cannot be replayed, wider scopes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rejudge.api import experimenting, replaying
from rejudge.api.comparing import run_rows
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.recording import Recording
from rejudge.models.requests import ExperimentRequest
from rejudge.models.session import Session, SessionView
from rejudge.store.cohorts import create_cohort
from rejudge.store.engine import Database
from rejudge.store.experiments import ExperimentRun, create_experiment, find_experiment_run
from rejudge.store.writing import Placement, save_recordings
from tests.api.replays import TALK, lines, record, register

LOOKS = """
    import rejudge
    @rejudge.tool
    def look(key: str) -> str:
        with open("looked", "a") as log:
            log.write(f"{key}\\n")
        return f"found {key}"
    def run(inputs):
        return look(inputs)
"""


def run_of(
    database: Database,
    *,
    trials: int = 1,
    policies: PolicySet | None = None,
    fork_point: str | None = None,
) -> ExperimentRun:
    """A run of the experiment ``same`` on all@1."""
    change = {
        "override": {},
        "policies": (policies or PolicySet()).model_dump(mode="json"),
        "fork_point": fork_point,
    }
    create_experiment(database, "same", {"change": change, "evaluators": []})
    return experimenting.begin(database, ExperimentRequest(experiment="same", cohort="all@1", trials=trials), [])[0]


@pytest.fixture
def three(database: Database, tmp_path: Path) -> list[str]:
    """The cohort all@1: two runs of an agent, and one of which nobody knows what it was started with."""
    ids = [record(database, tmp_path, TALK, inputs=words) for words in ("hello", "hi")]
    bare = Recording(SessionView(Session(external_id="bare", source="otel:desk", digest="0")))
    ids.append(save_recordings(database, [bare], Placement(agent="desk"))[0].session_id)
    create_cohort(database, "all", ids)
    return ids


def test_a_run_that_was_interrupted_is_taken_up_and_one_that_ended_is_followed_by_another(
    database: Database, three: list[str]
) -> None:
    first = run_of(database)
    assert run_of(database) == first and first.reference == "same@1"
    assert run_of(database, trials=2).reference == "same@2"
    experimenting.conclude(database, first, whole=True)
    assert (find_experiment_run(database, "same@1").status, run_of(database).reference) == ("completed", "same@3")


def test_each_member_is_asked_for_once_a_trial_and_the_rest_is_refused_with_its_reason(
    database: Database, three: list[str]
) -> None:
    run = run_of(database, trials=2)
    asked, refused = experimenting.ask_for_replays(database, run, three)
    assert [(one.baseline_session_id, one.trial) for one in asked] == [
        (session_id, trial) for session_id in three[:2] for trial in (1, 2)
    ]
    assert [one.session_id for one in refused] == three[2:] and "not recorded" in refused[0].reason
    again, _ = experimenting.ask_for_replays(database, run, three)
    assert [one.id for one in again] == [one.id for one in asked]


def test_a_fork_point_that_a_member_has_not_is_that_members_reason(database: Database, three: list[str]) -> None:
    asked, refused = experimenting.ask_for_replays(database, run_of(database, fork_point="tool:look#9"), three)
    assert asked == [] and ["no node" in one.reason for one in refused] == [True, True, False]


def test_what_became_of_each_member_stands_in_the_comparison(database: Database, three: list[str]) -> None:
    run = run_of(database)
    asked, _ = experimenting.ask_for_replays(database, run, three)
    replaying.perform(database, asked[0].id)
    _, members = run_rows(database, run)
    assert [[one.status for one in member.runs] for member in members] == [["completed"], ["not_run"], ["not_run"]]
    assert [member.runs[0].reason for member in members][1:] == [None, "it was not replayed"]


def test_a_member_is_answered_from_the_other_members_where_a_policy_says_so(
    database: Database, tmp_path: Path
) -> None:
    ids = [record(database, tmp_path, LOOKS, inputs=key) for key in ("A", "B")]
    create_cohort(database, "all", ids)
    register(database, tmp_path, LOOKS.replace("look(inputs)", 'look("B" if inputs == "A" else "C")'))
    policies = PolicySet(tools_default=HistoryPolicy(scope="cohort_version"))
    asked, _ = experimenting.ask_for_replays(database, run_of(database, policies=policies), ids)
    ended = [replaying.perform(database, one.id) for one in asked]
    assert [one.status for one in ended] == ["completed", "failed"]
    assert "the cohort version has no call of 'look' with these arguments" in (ended[1].error or "")
    assert lines(tmp_path / "looked") == []
