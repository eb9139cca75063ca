"""The three signals, worked by hand: cost, latency, tool-call-patterns."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from rejudge.models import SessionView
from tests.evaluators.build import llm, run, session, span, tool

GPT = {"model": "gpt-4o", "provider": "openai", "input_tokens": 1000, "output_tokens": 100}

COSTS: dict[str, tuple[SessionView, str | None, str]] = {
    # Rule 1: 0.1 + 0.2 + 0.05, the root span's 9 is not added on top.
    "1 every direct node priced": (
        session(span(cost="9"), llm(parent_id="n0", cost="0.1"), llm(cost="0.2"), tool("t", cost="0.05")),
        "0.35",
        "direct nodes",
    ),
    "1 a zero is a cost": (session(llm(cost="0"), tool("t", cost="0")), "0", "direct nodes"),
    "1 a span with a parent is direct": (
        session(span(cost="9"), span(parent_id="n0", cost="1"), llm(parent_id="n1", cost="2")),
        "3",
        "direct nodes",
    ),
    "1 a call that was only asked for carries none": (
        session(llm(cost="0.1"), tool("t", inferred=True), cost="7"),
        "0.1",
        "direct nodes",
    ),
    "1 exact decimals": (session(llm(cost="0.1"), llm(cost="0.2")), "0.3", "direct nodes"),
    # Rule 2: the tool has no cost, so rule 1 fails; both roots have one: 0.4 + 0.5.
    "2 root spans": (
        session(span(cost="0.4"), span(cost="0.5"), llm(parent_id="n0", cost="0.1"), tool("t", parent_id="n0")),
        "0.9",
        "root spans",
    ),
    "2 a span whose parent was never recorded is a root": (
        session(span(parent_id="gone", cost="0.4"), llm(parent_id="n0")),
        "0.4",
        "root spans",
    ),
    # A root span of 0 is no price, so rule 2 fails and the session is the only one that carries a cost.
    "3 only the session": (session(span(cost="0"), llm(), cost="1.25"), "1.25", "session"),
    "3 the trace's own statement": (session(llm(), recorded_cost=Decimal("0.7")), "0.7", "session"),
    "3 no nodes at all": (session(cost="2"), "2", "session"),
    # Rule 4: a model call of 0.1 and one of 0.2 are priced, the tool is not, the root carries nothing.
    "4 all model calls": (
        session(span(), llm(cost="0.1"), llm(cost="0.2"), tool("t"), cost="7"),
        "0.3",
        "model calls",
    ),
    "4 with a tool that is priced": (session(llm(cost="1"), tool("a", cost="2"), tool("b")), "3", "model calls"),
    # Rule 5.
    "5 one model call unpriced": (session(llm(cost="0.1"), llm()), None, ""),
    "5 one of two root spans priced": (session(span(cost="1"), span(), llm(cost="0.1"), tool("t")), None, ""),
    "5 nothing": (session(), None, ""),
    "5 a negative cost is none": (session(llm(cost="-1")), None, ""),
    "5 a partial sum is no total": (session(llm(), cost="0.1", cost_status="partial"), None, ""),
    "5 a part of a price is none": (session(llm(cost="0.1", cost_status="partial")), None, ""),
    "5 an unknown model": (session(llm(**{**GPT, "model": "no-such-model"})), None, ""),
    "5 a known model without output tokens": (session(llm(**{**GPT, "output_tokens": None})), None, ""),
}


@pytest.mark.parametrize(("view", "total", "rule"), COSTS.values(), ids=COSTS.keys())
def test_cost_follows_the_rule(view: SessionView, total: str | None, rule: str) -> None:
    row = run("rejudge/cost", view)["cost"]

    if total is None:
        assert (row.data_type, row.score, row.passed) == ("unscored", None, None)
        return
    assert (row.data_type, row.min_score, row.max_score, row.passed) == ("float", 0, None, None)
    assert row.score == float(total)
    assert (row.direction, row.evidence["rule"], row.evidence["cost"]) == ("lower", rule, total)
    assert row.evidence["cost_status"] == "recorded"


def test_cost_prices_tokens_where_nothing_is_recorded_and_says_so() -> None:
    # gpt-4o: $2.50 a million in, $1.25 cached, $10 out: 800 x 2.5 + 200 x 1.25 + 100 x 10 = 3,250 millionths.
    row = run("rejudge/cost", session(llm(**GPT, cached_input_tokens=200), tool("t")))["cost"]

    assert (row.score, row.evidence["cost_status"], row.evidence["estimated"]) == (0.00325, "estimated", 1)
    assert "estimated" in (row.explanation or "")


def test_cost_prefers_what_was_recorded_to_an_estimate() -> None:
    root = run("rejudge/cost", session(span(cost="0.5"), llm(**GPT, parent_id="n0")))["cost"]
    own = run("rejudge/cost", session(llm(**GPT, cost="0.01", cost_status="estimated"), cost="0.5"))["cost"]

    assert (root.score, root.evidence["rule"]) == (0.5, "root spans")
    assert (own.score, own.evidence["rule"]) == (0.5, "session")


def test_cost_adds_recorded_and_estimated_calls() -> None:
    row = run("rejudge/cost", session(llm(**GPT), llm(cost="1"), llm(cost="2", cost_status="estimated")))["cost"]

    assert (row.score, row.evidence["estimated"]) == (3.0035, 2)


def test_cost_says_how_many_calls_are_unpriced() -> None:
    row = run("rejudge/cost", session(llm(cost="0.1"), llm(), llm()))["cost"]

    assert row.unscored == "no total cost: 2 of 3 model calls carry no cost and no known price"
    assert (row.evidence["nodes"], row.evidence["known_cost"]) == (["n1", "n2"], "0.1")


LATENCIES: dict[str, tuple[dict[str, Any], float | None, str]] = {
    "end minus start": ({"start": 0, "end": 2.5}, 2.5, "2.5 s"),
    "at once": ({"start": 1, "end": 1}, 0, "0 s"),
    "no end": ({"start": 0}, None, "no ended_at"),
    "no start": ({"end": 0}, None, "no started_at"),
    "neither": ({}, None, "no started_at and ended_at"),
    "backwards": ({"start": 2, "end": 1}, None, "before it starts"),
}


@pytest.mark.parametrize(("times", "seconds", "words"), LATENCIES.values(), ids=LATENCIES.keys())
def test_latency_is_end_minus_start(times: dict[str, Any], seconds: float | None, words: str) -> None:
    row = run("rejudge/latency", session(**times))["latency_seconds"]

    assert (row.score, row.passed, row.max_score) == (seconds, None, None)
    assert words in (row.explanation or "")
    if seconds is not None:
        assert (row.data_type, row.direction, row.min_score) == ("float", "lower", 0)
    else:
        assert row.data_type == "unscored"


PATTERNS: dict[str, tuple[SessionView, int, int, list[str]]] = {
    # a x3 gives 2, b x2 gives 1, c x1 gives 0: 3 of 6.
    "three names": (session(*map(tool, "abacab")), 3, 6, ["n2", "n4", "n5"]),
    "none": (session(llm()), 0, 0, []),
    "unnamed calls repeat nothing": (session(tool(), tool(), tool("a")), 0, 3, []),
    "an inferred call is not counted": (session(tool("a"), tool("a", inferred=True)), 0, 1, []),
}


@pytest.mark.parametrize(("view", "score", "maximum", "nodes"), PATTERNS.values(), ids=PATTERNS.keys())
def test_tool_call_patterns_counts_calls_beyond_the_first(
    view: SessionView, score: int, maximum: int, nodes: list[str]
) -> None:
    row = run("rejudge/tool-call-patterns", view)["tool_call_pattern"]

    assert (row.data_type, row.score, row.min_score, row.max_score) == ("float", score, 0, maximum)
    assert (row.direction, row.passed, row.evidence["nodes"]) == ("lower", None, nodes)
