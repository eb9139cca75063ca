"""text-checks and tool-arguments, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from rejudge.errors import MissingInput
from rejudge.models import SessionView
from tests.evaluators.build import run, session, tool

HOLD = None
OPEN = {"status": "in_progress"}
SAYS = "Sorry, order 42 was refunded."

TEXTS: dict[str, tuple[dict[str, Any], dict[str, Any], str, float, float | None, bool | None]] = {
    "all there": ({"outputs": SAYS}, {"contains": ["Sorry", "42"]}, "contains", 0, 2, True),
    "case matters": ({"outputs": SAYS}, {"contains": ["sorry", "42"]}, "contains", 1, 2, False),
    "there so far": ({"outputs": SAYS, **OPEN}, {"contains": ["42"]}, "contains", 0, 1, HOLD),
    "missing so far": ({"outputs": SAYS, **OPEN}, {"contains": ["43"]}, "contains", 1, 1, False),
    "unwanted": ({"outputs": SAYS}, {"not_contains": ["refund", "idiot"]}, "not_contains", 1, 2, False),
    "nothing unwanted": ({"outputs": SAYS}, {"not_contains": ["idiot"]}, "not_contains", 0, 1, True),
    "patterns": ({"outputs": SAYS}, {"regex": [r"order \d+", r"(?i)^sorry", r"^order"]}, "regex", 1, 3, False),
    "what is no text is read as JSON": (
        {"outputs": {"a": [1, "é"]}},
        {"contains": ['{"a":[1,"é"]}']},
        "contains",
        0,
        1,
        True,
    ),
    "at a pointer": (
        {"outputs": {"a": ["x", SAYS]}},
        {"pointer": "/a/1", "contains": ["42"]},
        "contains",
        0,
        1,
        True,
    ),
    "in the inputs": ({"inputs": "refund 42"}, {"source": "inputs", "contains": ["42"]}, "contains", 0, 1, True),
    "long enough": ({"outputs": "four"}, {"min_length": 4, "max_length": 4}, "length", 4, None, True),
    "too long": ({"outputs": "fiver"}, {"max_length": 4}, "length", 5, None, False),
    "too short": ({"outputs": ""}, {"min_length": 1}, "length", 0, None, False),
    "keeps the schema": (
        {"outputs": {"total": 3}},
        {"json_schema": {"type": "object", "properties": {"total": {"type": "integer"}}}},
        "json_schema",
        0,
        None,
        True,
    ),
    "breaks it twice": (
        {"outputs": {"total": "3"}},
        {"json_schema": {"required": ["id"], "properties": {"total": {"type": "integer"}}}},
        "json_schema",
        2,
        None,
        False,
    ),
    "a text that holds JSON": (
        {"outputs": '{"total": 3}'},
        {"json_schema": {"type": "object"}, "parse_json": True},
        "json_schema",
        0,
        None,
        True,
    ),
    "a text that holds none": (
        {"outputs": "{total: 3}"},
        {"json_schema": {"type": "object"}, "parse_json": True},
        "json_schema",
        1,
        None,
        False,
    ),
}


@pytest.mark.parametrize(("own", "params", "name", "score", "most", "passed"), TEXTS.values(), ids=TEXTS.keys())
def test_text_checks(
    own: dict[str, Any], params: dict[str, Any], name: str, score: float, most: float | None, passed: bool | None
) -> None:
    row = run("rejudge/text-checks", session(**own), **params)[name]

    assert (row.data_type, row.score, row.min_score, row.max_score, row.passed) == ("float", score, 0, most, passed)
    assert row.direction == ("none" if name == "length" else "lower")


@pytest.mark.parametrize("own", [{}, {"outputs": {"b": 1}}, {"outputs": {"a": None}}], ids=["none", "absent", "null"])
def test_text_checks_need_something_to_look_at(own: dict[str, Any]) -> None:
    with pytest.raises(MissingInput, match="nothing at /a of its outputs"):
        run("rejudge/text-checks", session(**own), pointer="/a", contains=["x"])


def test_text_checks_have_a_row_for_each_rule() -> None:
    rows = run("rejudge/text-checks", session(outputs=SAYS), contains=["a"], not_contains=["b"], min_length=1)

    assert list(rows) == ["contains", "not_contains", "length"]


REFUNDS = session(
    tool("refund", inputs={"order": {"id": 7, "lines": [1, 2]}, "amount": 20}),
    tool("refund", inputs='{"order": {"id": 8}, "amount": 900}'),
    tool("search", inputs={"q": "x"}),
)
LIMIT = {"schemas": {"refund": {"properties": {"amount": {"maximum": 100}}, "required": ["amount"]}}}

ARGUMENTS: dict[str, tuple[SessionView, dict[str, Any], str, float, float, bool | None]] = {
    "one over the limit": (REFUNDS, LIMIT, "argument_schemas", 1, 2, False),
    "any within it": (REFUNDS, {**LIMIT, "match": "any"}, "argument_schemas", 0, 1, True),
    "coverage of the named": (REFUNDS, LIMIT, "argument_coverage", 2, 2, None),
    "a subset at depth": (
        REFUNDS,
        {"subsets": {"refund": {"order": {"id": 7, "lines": [1, 2]}}}, "match": "any"},
        "argument_subsets",
        0,
        1,
        True,
    ),
    "not in every call": (REFUNDS, {"subsets": {"refund": {"order": {"id": 7}}}}, "argument_subsets", 1, 2, False),
    "1 is not 1.0": (REFUNDS, {"subsets": {"refund": {"amount": 20.0}}}, "argument_subsets", 2, 2, False),
    "a list is a whole": (
        REFUNDS,
        {"subsets": {"refund": {"order": {"lines": [1]}}}},
        "argument_subsets",
        2,
        2,
        False,
    ),
    "never called": (REFUNDS, {"subsets": {"pay": {}}}, "argument_subsets", 0, 0, True),
    "never called, but must be": (REFUNDS, {"subsets": {"pay": {}}, "match": "any"}, "argument_subsets", 1, 1, False),
    "not yet called": (
        session(status="in_progress"),
        {"subsets": {"pay": {}}, "match": "any"},
        "argument_subsets",
        1,
        1,
        HOLD,
    ),
    "arguments unknown": (session(tool("refund")), LIMIT, "argument_schemas", 0, 1, HOLD),
    "not over": (
        session(tool("refund", inputs={"amount": 1}), status="in_progress"),
        LIMIT,
        "argument_schemas",
        0,
        1,
        HOLD,
    ),
}


@pytest.mark.parametrize(
    ("view", "params", "name", "score", "most", "passed"), ARGUMENTS.values(), ids=ARGUMENTS.keys()
)
def test_tool_arguments(
    view: SessionView, params: dict[str, Any], name: str, score: float, most: float, passed: bool | None
) -> None:
    row = run("rejudge/tool-arguments", view, **params)[name]

    assert (row.data_type, row.score, row.min_score, row.max_score, row.passed) == ("float", score, 0, most, passed)


def test_tool_arguments_say_where_and_not_what() -> None:
    row = run("rejudge/tool-arguments", REFUNDS, **LIMIT)["argument_schemas"]

    assert row.evidence["nodes"] == ["n1"]
    assert row.evidence["places"] == [{"node": "n1", "broken": ["$.amount breaks maximum"]}]
