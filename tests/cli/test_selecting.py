"""Naming sessions: exactly one way, each once, something there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import Program

COST = ("--evaluator", "rejudge/cost@latest")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["--all", "--tag", "x"], 2),
        (["1", "--agent", "desk"], 2),
        (["1", "1"], 2),
        (["--tag", "nobody-has-it"], 4),
        (["99"], 4),
        (["--cohort", "nope@1"], 4),
        (["--filter", "no_such_field > 1"], 2),
        (["--filter", "llm_call_count > 1000"], 4),
    ],
    ids=lambda words: " ".join(words) or "none" if isinstance(words, list) else None,
)
def test_a_selection_that_cannot_be_is_refused(five: Program, words: list[str], code: int) -> None:
    ended = five("session", "evaluate", *words, *COST)
    assert (ended.code, ended.out) == (code, "")
    assert len(ended.err.splitlines()) == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--evaluator", "rejudge/cost"], 2),
        (["--evaluator", "rejudge/cosst@latest"], 4),
        (["--evaluator", "nobody@3"], 4),
        ([*COST, "--params", 'rejudge/cost@latest={"nope": 1}'], 2),
        ([*COST, "--params", "rejudge/cost@latest=[1]"], 2),
        ([*COST, "--params", "other@1={}"], 2),
        ([*COST, "--params", "nonsense"], 2),
        ([*COST, *COST], 2),
        (["--evaluator", "rejudge/tool-policy@latest"], 2),
        (["--evaluator", "rejudge/judge@latest", "--params", 'rejudge/judge@latest={"questions": {}}'], 2),
    ],
    ids=[
        "bare",
        "misspelt",
        "unknown",
        "unknown param",
        "no object",
        "not named",
        "no =",
        "twice",
        "a rule between params",
        "no questions and no connection",
    ],
)
def test_an_evaluator_that_cannot_be_is_refused_before_anything_runs(
    five: Program, words: list[str], code: int
) -> None:
    ended = five("session", "evaluate", "--all", *words)
    assert (ended.code, ended.out) == (code, "")


def test_sessions_can_be_named_in_a_file(five: Program, tmp_path: Path) -> None:
    (tmp_path / "these").write_text("# two\n1\n\n3\n")
    ended = five("session", "list", "--sessions-file", "these", "--json")
    assert [one["number"] for one in ended.document["items"]] == [1, 3]
    assert five("session", "list", "--sessions-file", "nope").code == 2
    (tmp_path / "empty").write_text("\n")
    assert five("session", "list", "--sessions-file", "empty").code == 2


@pytest.mark.parametrize(
    ("words", "numbers"),
    [
        ([], [1, 2, 3, 4, 5]),
        (["--limit", "2"], [1, 2]),
        (["--newest", "--limit", "2"], [5, 4]),
        (["2", "1"], [2, 1]),
        (["--agent", "desk"], [1, 2, 3, 4, 5]),
        (["--filter", "number >= 4"], [4, 5]),
    ],
    ids=["all", "limit", "newest", "by number", "agent", "filter"],
)
def test_list_gives_what_is_named(five: Program, words: list[str], numbers: list[int]) -> None:
    document = five("session", "list", *words, "--json").document
    assert [one["number"] for one in document["items"]] == numbers
    assert document["count"] == len(numbers)
