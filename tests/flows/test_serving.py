"""`rejudge up`, `--detach`, `rejudge down`."""

from __future__ import annotations

from pathlib import Path

from tests.flows.commands import Commands, environment, evaluators, wait_until
from tests.flows.stored import store_with_sessions


def test_a_detached_batch_is_run_where_this_folder_is_served(served: Commands) -> None:
    store_with_sessions(served.folder / ".rejudge" / "rejudge.db", 5).close()
    ended = served("session", "evaluate", "--all", *evaluators("rejudge/latency@latest"), "--detach", "--json")
    assert ended.code == 0, ended.err
    assert ended.document["url"].endswith(ended.document["flow_run_id"])
    with served.store as store:
        there = {one.id for one in store.sessions.list()}  # with what other tests have put there
        wait_until(lambda: {one.session_id for one in store.evaluations.scorings()} == there, seconds=90)
        assert {one.flow_run_id for one in store.evaluations.scorings()} == {ended.document["flow_run_id"]}


def test_a_folder_that_nothing_serves_is_told_so(twelve: Commands) -> None:
    ended = twelve("session", "evaluate", "--all", *evaluators("rejudge/latency@latest"), "--detach")
    assert ended.code == 2
    assert "rejudge up" in ended.err
    with twelve.store as store:
        assert store.evaluations.scorings() == []


def test_where_no_server_is_up_down_says_so_and_detaching_is_refused(tmp_path: Path) -> None:
    commands = Commands(tmp_path, environment(tmp_path / "home"))
    store_with_sessions(tmp_path / ".rejudge" / "rejudge.db", 1).close()
    assert commands("down", "--json").document == {"stopped": False, "url": None, "served": []}
    ended = commands("session", "evaluate", "--all", *evaluators("rejudge/latency@latest"), "--detach", "--json")
    assert ended.code == 2 and "no local Prefect server" in ended.err
