"""The nouns that need no Prefect, end to end: what is made, said, and refused."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from rejudge.models.recording import Recording
from rejudge.models.session import Session, SessionView
from rejudge.store.engine import connect
from rejudge.store.writing import Placement, save_recordings
from tests.cli.program import Program
from tests.flows.stored import session_view


def test_a_session_shows_its_fields_nodes_and_payloads(five: Program) -> None:
    shown = five("session", "show", "2", "--json").document
    assert (shown["number"], shown["agent"], shown["status"]) == (2, "desk", "completed")
    assert [one["node_type"] for one in shown["nodes"]] == ["llm_call", "tool_call", "llm_call", "tool_call"]
    assert "inputs" not in shown["nodes"][0]
    full = five("session", "show", "2", "--json", "--payloads").document
    assert full["nodes"][1]["inputs"] == {"order": 2, "step": 1}
    assert five("session", "show", "2", "--outputs").document == {"text": "Order 2 is on its way."}
    assert "Where is order 2?" in five("session", "show", "2").out


def test_a_session_without_inputs_is_named_as_it_was_asked_for(five: Program, tmp_path: Path) -> None:
    view = SessionView(Session(external_id="ab" * 16), [])
    with closing(connect(f"sqlite:///{tmp_path / '.rejudge' / 'rejudge.db'}")) as database:
        save_recordings(database, [Recording(view)], Placement(agent="desk"))
    ended = five("session", "show", "6", "--inputs")
    assert ended.code == 4 and ended.err.startswith("error: session 6 cannot be replayed: ")


def test_tags_are_put_on_sessions_and_select_them(five: Program) -> None:
    assert five("session", "tag", "1", "2", "--add", "odd", "--json").document == {"sessions": 2, "tags": ["odd"]}
    assert five("session", "list", "--tag", "odd", "--json").document["count"] == 2


def test_a_label_is_given_once_a_session(five: Program) -> None:
    made = five("label", "add", "1", "quality", "--score", "true", "--explanation", "good tone", "--json")
    assert (made.code, made.document["score"], made.document["author"]) == (0, True, None)
    assert five("label", "add", "1", "quality", "--score", "0.5").code == 5
    assert five("label", "add", "1", "verdict", "--failed").code == 0
    rows = five("label", "list", "--session", "1", "--json").document["items"]
    assert {one["name"]: one["passed"] for one in rows} == {"quality": None, "verdict": False}


@pytest.mark.parametrize(
    ("name", "text", "code", "place"),
    [
        ("ok.csv", "session,name,score,explanation\n1,tone,true,fine\n2,tone,0.5,\n", 0, ""),
        (
            "ok.jsonl",
            '{"session": 1, "name": "tone", "value": "warm"}\n{"session": 2, "name": "tone", "score": 1}\n',
            0,
            "",
        ),
        ("bad.csv", "session,name,score\n1,tone,true\n2,tone,high\n", 2, "bad.csv:3"),
        ("twice.jsonl", '{"session": 1, "name": "t", "score": 1}\n{"session": 1, "name": "t", "score": 2}\n', 5, ""),
        ("unknown.csv", "session,name,mark\n1,tone,5\n", 2, "unknown.csv:1"),
        ("missing.jsonl", '{"session": 99, "name": "t", "score": 1}\n', 4, "missing.jsonl:1"),
        ("empty.csv", "", 2, ""),
    ],
    ids=["csv", "jsonl", "bad score", "twice", "unknown column", "no session", "empty"],
)
def test_labels_come_in_all_or_none(
    five: Program, tmp_path: Path, name: str, text: str, code: int, place: str
) -> None:
    (tmp_path / name).write_text(text)
    ended = five("label", "import", name)
    assert ended.code == code and place in ended.err
    assert five("label", "list", "--json").document["count"] == (2 if code == 0 else 0)


def test_cohorts_are_lists_that_never_change(five: Program) -> None:
    assert five("cohort", "create", "odd", "1", "3", "--json").document["reference"] == "odd@1"
    assert five("cohort", "create", "odd", "1").code == 5
    assert five("cohort", "version", "odd", "1", "3", "--json").document["created"] is False
    assert five("cohort", "version", "odd", "1", "3", "5", "--json").document["reference"] == "odd@2"
    assert len(five("cohort", "show", "odd@1", "--json").document["session_ids"]) == 2
    difference = five("cohort", "diff", "odd@1", "odd@2", "--json").document
    assert (len(difference["added"]), difference["removed"], difference["kept"]) == (1, [], 2)
    assert five("cohort", "list", "--json").document["count"] == 2


def test_an_evaluator_is_scaffolded_tried_and_registered(five: Program, tmp_path: Path) -> None:
    assert five("evaluator", "scaffold", "few-calls", "--json").document["file"] == "few_calls.py"
    assert five("evaluator", "scaffold", "few-calls").code == 5
    tried = five("evaluator", "test", "few_calls.py", "--sample", "--json").document
    assert tried["items"][0]["status"] == "scored"
    assert (
        five("evaluator", "test", "few_calls.py", "--session", "1", "--session", "2", "--json").document["count"] == 2
    )
    first = five("evaluator", "register", "few-calls", "--script", "few_calls.py", "--json").document
    assert (first["reference"], first["created"]) == ("few-calls@1", True)
    again = five("evaluator", "register", "few-calls", "--script", "few_calls.py", "--json").document
    assert (again["reference"], again["created"]) == ("few-calls@1", False)
    script = tmp_path / "few_calls.py"
    script.write_text(script.read_text().replace("maximum: int = 5", "maximum: int = 6"))
    changed = five("evaluator", "register", "few-calls", "--script", "few_calls.py", "--json").document
    assert changed["reference"] == "few-calls@2" and changed["changes"]
    names = [one["name"] for one in five("evaluator", "list", "--json").document["items"]]
    assert "rejudge/cost" in names and names.count("few-calls") == 2
    assert five("evaluator", "delete", "few-calls").code == 0
    assert five("evaluator", "show", "few-calls@1").code == 4


def test_a_cohort_with_replays_among_its_sessions_says_so(five: Program, tmp_path: Path) -> None:
    with closing(connect(f"sqlite:///{tmp_path / '.rejudge' / 'rejudge.db'}")) as database:
        save_recordings(database, [Recording(session_view(9, 2))], Placement(agent="desk", origin="replay"))
    made = five("cohort", "create", "all", "--agent", "desk")
    without = made.err.partition("--filter '")[2].partition("'")[0]
    assert made.code == 0 and made.err.startswith("1 of them are replays")
    alone = five("cohort", "create", "real", "--filter", without)
    assert (alone.out, alone.err) == ("made real@1 of 5 sessions\n", "")
    assert five("cohort", "create", "replays", "6").err == ""


def test_an_agent_is_registered_by_its_source(program: Program, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text("def run(inputs):\n    return inputs\n")
    first = program("agent", "register", "echo", "--entrypoint", "agent.py:run", "--json").document
    again = program("agent", "register", "echo", "--entrypoint", "agent.py:run", "--json").document
    assert (first["reference"], first["created"], again["reference"], again["created"]) == (
        "echo@1",
        True,
        "echo@1",
        False,
    )
    script.write_text("def run(inputs):\n    return [inputs]\n")
    assert program("agent", "register", "echo", "--entrypoint", "agent.py:run", "--json").document["number"] == 2
    assert program("agent", "show", "echo@1", "--json").document["spec"]["entrypoint"] == "agent.py:run"
    assert program("agent", "list", "--json").document["items"][0]["versions"] == 2
    program("agent", "register", "other", "--command", "cat", "--env", "A=1", "--env", "B=2", "--timeout", "5")
    shown = " ".join(program("agent", "show", "other").out.split())
    assert (
        "environment A=1, B=2" in shown and "limits timeout_seconds=5.0, output_bytes=" in shown and "{" not in shown
    )


def test_an_agent_whose_function_is_not_there_is_not_registered(program: Program, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def run(inputs):\n    return inputs\n")
    ended = program("agent", "register", "echo", "--entrypoint", "agent.py:rum")
    assert (ended.code, ended.err) == (2, "error: 'agent.py' has no function 'rum'\n  it has: run\n")
    assert program("agent", "list", "--json").document["count"] == 0


def test_an_experiment_is_a_name_for_one_change(five: Program) -> None:
    made = five(
        "experiment", "create", "small", "--evaluator", "rejudge/cost@latest", "--model", "gpt-4o-mini", "--json"
    )
    assert made.document["spec"]["change"]["override"] == {"model": "gpt-4o-mini"}
    other = five("experiment", "create", "small", "--evaluator", "rejudge/cost@latest", "--model", "another")
    assert other.code == 5
    rows = five("experiment", "list", "--json").document["items"]
    assert [(one["name"], one["change"], one["runs"]) for one in rows] == [("small", "model gpt-4o-mini", 0)]
    assert five("experiment", "compare", "small@1").code == 4


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "a", "--model", "b"],
        ["--model-params", "[1]"],
        ["--tools", "sometimes"],
        ["--tool", "passthrough"],
        ["--prompt", "@nowhere.txt"],
    ],
    ids=" ".join,
)
def test_a_change_that_makes_no_sense_is_refused(five: Program, words: list[str]) -> None:
    ended = five("experiment", "create", "x", "--evaluator", "rejudge/cost@latest", *words)
    assert ended.code == 2 and words[0] in ended.err


def test_the_database_is_shown_without_its_password(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program("db", "upgrade", "--json").document["schema"]
    assert program("db", "show", "--json").document["url"].startswith("sqlite:///")
    monkeypatch.setenv("REJUDGE_DATABASE_URL", "postgresql://ann:s3cret@127.0.0.1:1/nope?connect_timeout=1")
    ended = program("db", "show", "--json")
    assert (ended.code, json.loads(ended.err)["exit_code"]) == (8, 8)
    assert "s3cret" not in ended.out + ended.err
