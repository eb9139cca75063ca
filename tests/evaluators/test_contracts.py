"""output-contract and resource-budget, worked by hand: figures, verdicts and where the verdict is held."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from rejudge.models import SessionView
from tests.evaluators.build import llm, run, session, span, tool

HOLD = None
OPEN = {"status": "in_progress"}
ORDER = {"id": 7, "total": 12.5, "paid": True, "lines": [{"sku": "a"}], "note": None, "a/b": {"~": "x"}}

Outputs = dict[str, tuple[dict[str, Any], dict[str, Any], str, float, float, bool | None]]

OUTPUTS: Outputs = {
    "an output is there": ({"outputs": 0}, {"expected": 0}, "output_availability", 1, 1, None),
    "no output is there": ({}, {"expected": 0}, "output_availability", 0, 1, None),
    "equal in another key order": (
        {"outputs": {"b": 1, "a": 2}},
        {"expected": {"a": 2, "b": 1}},
        "exact_output",
        1,
        1,
        True,
    ),
    "1 is not 1.0": ({"outputs": 1.0}, {"expected": 1}, "exact_output", 0, 1, False),
    "true is not 1": ({"outputs": True}, {"expected": 1}, "exact_output", 0, 1, False),
    "case matters": ({"outputs": "Yes"}, {"expected": "yes"}, "exact_output", 0, 1, False),
    "NaN equals nothing": ({"outputs": [math.nan]}, {"expected": [1]}, "exact_output", 0, 1, False),
    "a failed session is terminal": (
        {"outputs": "x", "status": "failed"},
        {"expected": "x"},
        "exact_output",
        1,
        1,
        True,
    ),
    "equal so far is held": ({"outputs": "x", **OPEN}, {"expected": "x"}, "exact_output", 1, 1, HOLD),
    "a mismatch fails at once": ({"outputs": "y", **OPEN}, {"expected": "x"}, "exact_output", 0, 1, False),
    "no output is held": ({}, {"expected": "x"}, "exact_output", 0, 1, HOLD),
    "all paths are there, one a null": (
        {"outputs": ORDER},
        {"required_paths": ["/id", "/lines/0/sku", "/note", "/a~1b/~0", ""]},
        "required_paths",
        0,
        5,
        True,
    ),
    "paths that lead nowhere": (
        {"outputs": ORDER},
        {"required_paths": ["/id", "/lines/1", "/lines/00", "/lines/-", "/id/x", "/Total"]},
        "required_paths",
        5,
        6,
        False,
    ),
    "paths of an open session": (
        {"outputs": ORDER, **OPEN},
        {"required_paths": ["/id"]},
        "required_paths",
        0,
        1,
        HOLD,
    ),
    "paths without an output": ({}, {"required_paths": ["/id", "/x"]}, "required_paths", 2, 2, HOLD),
    "types as they should be": (
        {"outputs": ORDER},
        {
            "type_requirements": {
                "": "object",
                "/id": "number",
                "/total": "number",
                "/paid": "boolean",
                "/lines": "array",
                "/note": "null",
                "/a~1b/~0": "string",
            }
        },
        "type_requirements",
        0,
        7,
        True,
    ),
    "a bool is no integer, 12.5 none either, and what is absent has no type": (
        {"outputs": ORDER},
        {"type_requirements": {"/paid": "integer", "/total": "integer", "/none": "null", "/id": "integer"}},
        "type_requirements",
        3,
        4,
        False,
    ),
    "types of an open session": (
        {"outputs": ORDER, **OPEN},
        {"type_requirements": {"/id": "integer"}},
        "type_requirements",
        0,
        1,
        HOLD,
    ),
    "types without an output": ({}, {"type_requirements": {"": "null"}}, "type_requirements", 1, 1, HOLD),
}


@pytest.mark.parametrize(("own", "params", "name", "score", "most", "passed"), OUTPUTS.values(), ids=OUTPUTS.keys())
def test_output_contract(
    own: dict[str, Any], params: dict[str, Any], name: str, score: float, most: float, passed: bool | None
) -> None:
    rows = run("rejudge/output-contract", session(**own), **params)
    row = rows[name]

    assert (row.data_type, row.score, row.min_score, row.max_score, row.passed) == ("float", score, 0, most, passed)
    assert row.direction == ("lower" if name in ("required_paths", "type_requirements") else "none")
    assert list(rows) == ["output_availability", "exact_output" if "expected" in params else next(iter(params))]


# Three nodes within ten seconds: 0.1 + 0.2 dollars, 30 + 12 tokens.
RUN = (
    llm(start=0, end=4, cost="0.1", input_tokens=20, output_tokens=10),
    llm(start=4, end=8, cost="0.2", input_tokens=10, output_tokens=2),
    tool("a", start=8, end=9),
)
WHOLE = session(
    *RUN,
    start=0,
    end=10,
    cost="0.3",
    input_tokens=30,
    output_tokens=12,
    node_count=3,
    llm_call_count=2,
    tool_call_count=1,
)
STILL = session(*RUN, start=0, end=10, cost="0.3", input_tokens=30, output_tokens=12, **OPEN)

BUDGETS: dict[str, tuple[SessionView, str, Any, str, float | None, bool | None]] = {
    "time within": (WHOLE, "max_duration_seconds", 10, "duration_budget", 10, True),
    "time over": (WHOLE, "max_duration_seconds", 9.999, "duration_budget", 10, False),
    "time of an open session": (STILL, "max_duration_seconds", 60, "duration_budget", 10, HOLD),
    "time over in an open session": (STILL, "max_duration_seconds", 5, "duration_budget", 10, False),
    "time known from nodes only": (session(*RUN), "max_duration_seconds", 60, "duration_budget", 9, HOLD),
    "nodes over, the session silent": (session(*RUN), "max_duration_seconds", 8, "duration_budget", 9, False),
    "nodes outlast the session": (
        session(*RUN, start=0, end=2),
        "max_duration_seconds",
        60,
        "duration_budget",
        9,
        HOLD,
    ),
    "no time at all": (session(), "max_duration_seconds", 60, "duration_budget", None, HOLD),
    "cost within, to the cent": (WHOLE, "max_cost", 0.3, "cost_budget", 0.3, True),
    "cost over": (WHOLE, "max_cost", 0.29, "cost_budget", 0.3, False),
    "cost of an open session": (STILL, "max_cost", 1, "cost_budget", 0.3, HOLD),
    "cost of which a part is unknown": (session(llm(cost="0.4"), llm()), "max_cost", 1, "cost_budget", 0.4, HOLD),
    "the known part alone is over": (session(llm(cost="0.4"), llm()), "max_cost", 0.3, "cost_budget", 0.4, False),
    "two statements that differ": (
        session(*RUN, recorded_cost=Decimal("0.5")),
        "max_cost",
        1,
        "cost_budget",
        0.5,
        HOLD,
    ),
    "a root that costs more than its children": (
        session(span(cost="0.9"), llm(parent_id="n0", cost="0.1")),
        "max_cost",
        0.5,
        "cost_budget",
        0.9,
        False,
    ),
    "an importer's sum over roots and children is no statement": (
        session(span(cost="0.4"), llm(parent_id="n0", cost="0.4"), cost="0.8", cost_status="recorded"),
        "max_cost",
        0.5,
        "cost_budget",
        0.4,
        True,
    ),
    "a statement above the nodes": (session(llm(cost="0.4"), cost="0.8"), "max_cost", 0.5, "cost_budget", 0.8, False),
    "nothing says what it cost": (session(llm()), "max_cost", 1, "cost_budget", None, HOLD),
    "tokens within": (WHOLE, "max_total_tokens", 42, "total_tokens_budget", 42, True),
    "tokens over": (WHOLE, "max_total_tokens", 41, "total_tokens_budget", 42, False),
    "tokens of an open session": (STILL, "max_total_tokens", 99, "total_tokens_budget", 42, HOLD),
    "tokens of nodes alone": (session(*RUN), "max_total_tokens", 99, "total_tokens_budget", 42, True),
    "tokens that contradict": (
        session(*RUN, input_tokens=50, output_tokens=12),
        "max_total_tokens",
        99,
        "total_tokens_budget",
        62,
        HOLD,
    ),
    "tokens of one call only": (
        session(llm(input_tokens=5, output_tokens=5), llm()),
        "max_total_tokens",
        99,
        "total_tokens_budget",
        10,
        HOLD,
    ),
    "no tokens": (session(llm()), "max_total_tokens", 99, "total_tokens_budget", None, HOLD),
    "nodes within": (WHOLE, "max_nodes", 3, "node_count_budget", 3, True),
    "nodes over": (WHOLE, "max_nodes", 2, "node_count_budget", 3, False),
    "the session counted more nodes": (session(*RUN, node_count=5), "max_nodes", 9, "node_count_budget", 5, HOLD),
    "and those are over": (session(*RUN, node_count=5), "max_nodes", 4, "node_count_budget", 5, False),
    "nodes of an open session": (STILL, "max_nodes", 9, "node_count_budget", 3, HOLD),
    "model calls within": (WHOLE, "max_llm_calls", 2, "llm_call_count_budget", 2, True),
    "model calls over": (WHOLE, "max_llm_calls", 1, "llm_call_count_budget", 2, False),
    "model calls of an open session": (STILL, "max_llm_calls", 2, "llm_call_count_budget", 2, HOLD),
    "tool calls within": (WHOLE, "max_tool_calls", 1, "tool_call_count_budget", 1, True),
    "tool calls over": (WHOLE, "max_tool_calls", 0, "tool_call_count_budget", 1, False),
    "tool calls only asked for": (
        session(tool("a"), tool("b", inferred=True)),
        "max_tool_calls",
        5,
        "tool_call_count_budget",
        1,
        HOLD,
    ),
    "no calls at all": (session(), "max_tool_calls", 0, "tool_call_count_budget", 0, True),
}


@pytest.mark.parametrize(
    ("view", "param", "ceiling", "name", "score", "passed"), BUDGETS.values(), ids=BUDGETS.keys()
)
def test_resource_budget(
    view: SessionView, param: str, ceiling: float, name: str, score: float | None, passed: bool | None
) -> None:
    rows = run("rejudge/resource-budget", view, **{param: ceiling})
    row = rows[name]

    assert list(rows) == [name]
    assert (row.score, row.passed) == (score, passed)
    if score is None:
        assert row.data_type == "unscored"
    else:
        assert (row.data_type, row.min_score, row.max_score, row.direction) == ("float", 0, ceiling, "lower")


def test_resource_budget_has_a_row_for_each_ceiling_that_is_set() -> None:
    rows = run("rejudge/resource-budget", WHOLE, max_nodes=3, max_cost=1.0, max_llm_calls=None)

    assert list(rows) == ["cost_budget", "node_count_budget"]
