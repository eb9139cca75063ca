"""tool-policy, model-policy and workflow-conformance, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rejudge.models import SessionView
from tests.evaluators.build import llm, run, session, tool

HOLD = None
DONE = session(tool("a"), tool("b"), tool("a"))
STILL = session(tool("a"), tool("b"), tool("a"), status="in_progress")
UNNAMED = session(tool("a"), tool("b"), tool(None))
ASKED = session(tool("a"), tool("b"), tool("c", inferred=True))

TOOLS: dict[str, tuple[SessionView, dict[str, Any], str, float, float, bool | None, list[str]]] = {
    "all named": (DONE, {"required_tools": ["a"]}, "tool_name_coverage", 3, 3, None, []),
    "one without a name": (UNNAMED, {"required_tools": ["a"]}, "tool_name_coverage", 2, 3, None, ["n2"]),
    "required and called": (DONE, {"required_tools": ["a", "b"]}, "required_tools", 0, 2, True, ["n0", "n1", "n2"]),
    "required and missing": (DONE, {"required_tools": ["a", "c", "A"]}, "required_tools", 2, 3, False, ["n0", "n2"]),
    "missing so far": (STILL, {"required_tools": ["c"]}, "required_tools", 1, 1, HOLD, []),
    "there, but not over": (STILL, {"required_tools": ["a"]}, "required_tools", 0, 1, HOLD, ["n0", "n2"]),
    "perhaps the unnamed one": (UNNAMED, {"required_tools": ["c"]}, "required_tools", 1, 1, HOLD, []),
    "perhaps the one asked for": (ASKED, {"required_tools": ["c"]}, "required_tools", 1, 1, HOLD, []),
    "forbidden and not called": (DONE, {"forbidden_tools": ["c"]}, "forbidden_tools", 0, 1, True, []),
    "forbidden and called": (DONE, {"forbidden_tools": ["b", "c"]}, "forbidden_tools", 1, 2, False, ["n1"]),
    "forbidden and called, not over": (STILL, {"forbidden_tools": ["b"]}, "forbidden_tools", 1, 1, False, ["n1"]),
    "not called so far": (STILL, {"forbidden_tools": ["c"]}, "forbidden_tools", 0, 1, HOLD, []),
    "the unnamed one may be it": (UNNAMED, {"forbidden_tools": ["c"]}, "forbidden_tools", 0, 1, HOLD, []),
    "the one asked for may have run": (ASKED, {"forbidden_tools": ["c"]}, "forbidden_tools", 0, 1, HOLD, []),
    "as often as allowed": (DONE, {"max_calls_per_tool": {"a": 2, "b": 1}}, "per_tool_maximums", 0, 2, True, []),
    "too often": (
        DONE,
        {"max_calls_per_tool": {"a": 1, "b": 0}},
        "per_tool_maximums",
        2,
        2,
        False,
        ["n0", "n1", "n2"],
    ),
    "too often, not over": (STILL, {"max_calls_per_tool": {"a": 1}}, "per_tool_maximums", 1, 1, False, ["n0", "n2"]),
    "not too often so far": (STILL, {"max_calls_per_tool": {"a": 9}}, "per_tool_maximums", 0, 1, HOLD, []),
    "the unnamed one may be one more": (
        UNNAMED,
        {"max_calls_per_tool": {"a": 1}},
        "per_tool_maximums",
        0,
        1,
        HOLD,
        [],
    ),
    "no calls": (session(), {"forbidden_tools": ["a"]}, "forbidden_tools", 0, 1, True, []),
}


@pytest.mark.parametrize(
    ("view", "params", "name", "score", "most", "passed", "nodes"), TOOLS.values(), ids=TOOLS.keys()
)
def test_tool_policy(
    view: SessionView,
    params: dict[str, Any],
    name: str,
    score: float,
    most: float,
    passed: bool | None,
    nodes: list[str],
) -> None:
    rows = run("rejudge/tool-policy", view, **params)
    row = rows[name]

    assert (row.data_type, row.score, row.min_score, row.max_score, row.passed) == ("float", score, 0, most, passed)
    assert row.direction == ("none" if name == "tool_name_coverage" else "lower")
    assert row.evidence["nodes"] == nodes
    assert len(rows) == 2


def calls(*pairs: tuple[str | None, str | None], **own: Any) -> SessionView:
    """Model calls by (requested, served) model, all of provider p."""
    return session(*(llm(requested_model=asked, model=served, provider="p") for asked, served in pairs), **own)


OPEN = {"status": "in_progress"}
MATCH = {"require_requested_model_match": True}

MODELS: dict[str, tuple[SessionView, dict[str, Any], str, float, float, bool | None]] = {
    "allowed": (calls((None, "m"), (None, "n")), {"allowed_models": ["m", "n"]}, "allowed_models", 0, 2, True),
    "another": (calls((None, "m"), (None, "M")), {"allowed_models": ["m"]}, "allowed_models", 1, 2, False),
    "another, not over": (calls((None, "x"), **OPEN), {"allowed_models": ["m"]}, "allowed_models", 1, 1, False),
    "allowed so far": (calls((None, "m"), **OPEN), {"allowed_models": ["m"]}, "allowed_models", 0, 1, HOLD),
    "one unknown": (calls((None, "m"), (None, None)), {"allowed_models": ["m"]}, "allowed_models", 0, 2, HOLD),
    "no model calls": (session(), {"allowed_models": ["m"]}, "allowed_models", 0, 0, HOLD),
    "provider allowed": (calls((None, None)), {"allowed_providers": ["p"]}, "allowed_providers", 0, 1, True),
    "another provider": (calls((None, None)), {"allowed_providers": ["q"]}, "allowed_providers", 1, 1, False),
    "provider unknown": (session(llm()), {"allowed_providers": ["q"]}, "allowed_providers", 0, 1, HOLD),
    "as requested": (calls(("m", "m")), MATCH, "requested_model_match", 0, 1, True),
    "not as requested": (calls(("m", "m"), ("m", "m-2")), MATCH, "requested_model_match", 1, 2, False),
    "request unknown": (calls((None, "m")), MATCH, "requested_model_match", 0, 1, HOLD),
    "as requested so far": (calls(("m", "m"), **OPEN), MATCH, "requested_model_match", 0, 1, HOLD),
}


@pytest.mark.parametrize(("view", "params", "name", "score", "most", "passed"), MODELS.values(), ids=MODELS.keys())
def test_model_policy(
    view: SessionView, params: dict[str, Any], name: str, score: float, most: float, passed: bool | None
) -> None:
    rows = run("rejudge/model-policy", view, **params)
    row = rows[name]

    assert list(rows) == [name]
    assert (row.data_type, row.score, row.min_score, row.max_score, row.passed) == ("float", score, 0, most, passed)
    assert row.direction == "lower"


def told(letters: str, **own: Any) -> SessionView:
    """One tool call per letter; a dot is one without a name."""
    return session(*(tool(None if letter == "." else letter) for letter in letters), **own)


WORKFLOWS: dict[str, tuple[SessionView, str, str, float, bool | None]] = {
    "exact order": (told("abc"), "abc", "exact_order", 1, True),
    "exact order, one more": (told("abcd"), "abc", "exact_order", 0, False),
    "exact order, one less": (told("ab"), "abc", "exact_order", 0, False),
    "a prefix may still grow": (told("ab", **OPEN), "abc", "exact_order", 0, HOLD),
    "no prefix can": (told("ac", **OPEN), "abc", "exact_order", 0, False),
    "too long already": (told("abcd", **OPEN), "abc", "exact_order", 0, False),
    "complete but not over": (told("abc", **OPEN), "abc", "exact_order", 1, HOLD),
    "an unnamed one may fit": (told("a.c"), "abc", "exact_order", 0, HOLD),
    "beside an unnamed one that does not": (told("x.c"), "abc", "exact_order", 0, False),
    "nothing was to be called": (told(""), "", "exact_order", 1, True),
    "in order": (told("xaybz"), "ab", "in_order", 1, True),
    "in another order": (told("ba"), "ab", "in_order", 0, False),
    "in order so far": (told("b", **OPEN), "ab", "in_order", 0, HOLD),
    "contains all": (told("bxa"), "ab", "contains_all", 1, True),
    "not twice": (told("ab"), "aab", "contains_all", 0, False),
    "not twice yet": (told("ab", **OPEN), "aab", "contains_all", 0, HOLD),
    "exact set": (told("baab"), "ab", "exact_set", 1, True),
    "exact set, one missing": (told("aa"), "ab", "exact_set", 0, False),
    "exact set, one missing yet": (told("aa", **OPEN), "ab", "exact_set", 0, HOLD),
    "exact set, one unexpected": (told("abx", **OPEN), "ab", "exact_set", 0, False),
    "exact set, one unnamed": (told("ab."), "ab", "exact_set", 0, HOLD),
}


@pytest.mark.parametrize(("view", "expected", "mode", "score", "passed"), WORKFLOWS.values(), ids=WORKFLOWS.keys())
def test_workflow_conformance(view: SessionView, expected: str, mode: str, score: float, passed: bool | None) -> None:
    rows = run("rejudge/workflow-conformance", view, expected_tools=list(expected), mode=mode)
    row = rows["workflow_match"]

    assert list(rows) == ["tool_name_coverage", "workflow_match"]
    assert (row.data_type, row.score, row.min_score, row.max_score, row.passed) == ("float", score, 0, 1, passed)
    assert row.direction == "none"


def test_workflow_conformance_waits_where_a_run_was_not_recorded() -> None:
    row = run("rejudge/workflow-conformance", ASKED, expected_tools=["a", "c", "b"])["workflow_match"]

    assert (row.score, row.passed) == (0, None)
