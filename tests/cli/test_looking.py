"""Looking at sessions and replays from the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rejudge.api import replaying
from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.recording import Recording
from rejudge.models.requests import ReplayRequest
from rejudge.models.session import Node, Session, SessionView
from rejudge.store.engine import connect
from rejudge.store.schema import prepare
from rejudge.store.writing import Placement, save_recordings
from tests.api.replays import TALK, record
from tests.cli.program import Ended, Program

Run = Callable[..., Ended]
EVIL = "\x1b]8;;https://evil.example\x07click\x1b[2J"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Session 1; session 2, its replay with a system prompt that the tape cannot answer; session 3, bare."""
    folder = tmp_path_factory.mktemp("looking")
    database = connect(f"sqlite:///{folder / 'store.db'}")
    prepare(database)
    record(database, folder, TALK, inputs=f"hello {EVIL}")
    request = ReplayRequest(
        session="1", override=Override(system_prompt="Be brief."), policies=PolicySet(models_default=HistoryPolicy())
    )
    asked, _ = replaying.ask(database, request)
    replaying.perform(database, asked.id)
    bare = Recording(SessionView(Session(external_id="bare", source="otel:desk", digest="0")))
    save_recordings(database, [bare], Placement(agent="desk"))
    database.close()
    return f"sqlite:///{folder / 'store.db'}"


@pytest.fixture
def run(store: str, program: Program, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("REJUDGE_DATABASE_URL", store)

    def command(*words: str) -> Ended:
        ended = program(*words)
        assert "\x1b" not in ended.out + ended.err
        return ended

    return command


def test_a_replay_is_shown_with_the_call_that_missed_and_the_nearest_recorded_one(run: Run) -> None:
    shown = run("replay", "show", "1").out
    for told in (
        "of session  1",
        "result      2",
        "changes     system prompt",
        "policies    models: history",
        "status      failed",
        "divergence  step 1: model 'desk' was called with other arguments",
        "the call that nothing answered: model desk",
        "the nearest recorded call is node 1 (desk)",
        "/system: recorded Be kind., called with Be brief.",
    ):
        assert told in shown
    facts = run("replay", "show", "1", "--json").document
    assert facts["result"]["miss"]["differences"][0]["path"] == "/system"
    assert facts["result"]["fidelity"]["misses"] == 1


def test_replays_are_listed_by_session_and_status(run: Run) -> None:
    assert [one["number"] for one in run("replay", "list", "--session", "1", "--json").document["items"]] == [1]
    shown = run("replay", "list", "--status", "failed").out.splitlines()
    assert shown[1].split()[:3] == ["1", "1", "desk@1"] and "system prompt" in shown[1]
    assert run("replay", "list", "--status", "completed", "--json").document["count"] == 0
    assert run("replay", "list", "--run", "nothing@1").code == 4


def test_a_diff_is_a_picture_a_page_and_a_document(run: Run, tmp_path: Path) -> None:
    shown = run("session", "diff", "1", "2")
    assert (shown.code, "▶  1 ≠ model desk" in shown.out) == (0, True)
    page = run("session", "diff", "1", "2", "--html", str(tmp_path / "diff.html"), "--json")
    assert page.document["first"] == 0 and page.document["counts"] == {"changed": 1, "missing": 11}
    assert 'id="first"' in (tmp_path / "diff.html").read_text()
    assert "… 10 the same" not in run("session", "diff", "1", "2", "--all").out
    assert run("session", "diff", "1", "2", "--html", str(tmp_path)).code == 2


def test_a_tree_is_drawn_and_is_a_document(run: Run) -> None:
    drawn = run("session", "tree", "2").out.splitlines()
    assert drawn[0].startswith("session 1  desk") and "session 2  desk@1  failed  fork: system prompt" in drawn[1]
    assert run("session", "tree", "2", "--json").document["children"][0]["replay"]["number"] == 1


@pytest.mark.parametrize("node", ["1", "id"])
def test_a_node_is_shown_with_its_payloads(run: Run, node: str) -> None:
    nodes = run("session", "show", "1", "--json").document["nodes"]
    written = nodes[1]["id"] if node == "id" else node
    shown = run("session", "show", "1", "--node", written).out
    assert "  system: Be kind." in shown and "user: hello" in shown and "desk has read 1 messages" in shown
    facts = run("session", "show", "1", "--node", written, "--json").document
    assert facts["index"] == 1 and facts["outputs"]["messages"][0]["role"] == "assistant"
    assert set(facts) == set(Node.model_fields)


def test_inputs_are_what_a_replay_would_start_with(run: Run) -> None:
    assert run("session", "show", "1", "--inputs").document == f"hello {EVIL}"
    ended = run("session", "show", "3", "--inputs")
    assert (ended.code, "not recorded" in ended.err) == (4, True)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("session", "show", "1", "--node", "99"), 4),
        (("session", "show", "1", "--node", "1", "--inputs"), 2),
        (("session", "diff", "1", "1"), 2),
        (("session", "diff", "1"), 2),
        (("session", "tree", "99"), 4),
        (("replay", "show", "99"), 4),
        (("replay", "run", "3", "--agent", "desk@1"), 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_what_cannot_be_shown_is_refused(run: Run, words: tuple[str, ...], code: int) -> None:
    assert run(*words).code == code


def test_a_session_is_all_of_its_fields(run: Run) -> None:
    assert set(Session.model_fields) < set(run("session", "show", "1", "--json").document)
