"""session-diagnostics, timing-profile and llm-call-signals, worked by hand."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from rejudge.models import Node, Session, SessionView
from tests.evaluators.build import at, llm, node, run, session, span, tool

# Three nodes under one root; n3 hangs from a node that was never recorded, n4 and n5 from each other, and n6 links
# to a node that is not there. n2 ends a second before it starts; n5 is stored after n4 but started before it.
BROKEN = session(
    span(start=0, end=9, inputs=1, outputs=2),
    llm(parent_id="n0", start=1, end=2, inputs=[1], outputs=[2], input_tokens=3, output_tokens=4, cost="0.1"),
    tool("a", parent_id="n0", start=3, end=2, inputs={}, outputs=None),
    tool("b", parent_id="gone", start=4, end=5, inputs={}, outputs={}, cost="0.2"),
    tool("c", parent_id="n5", start=6, end=7, inputs=None, outputs=1),
    node("subagent_call", parent_id="n4", start=5, end=8),
    llm(link_ids=("lost",), start=9, input_tokens=5),
    tool("asked", inferred=True),
    start=0,
    end=9.5,
    cost="0.3",
    input_tokens=8,
    output_tokens=4,
    node_count=7,
    llm_call_count=2,
    tool_call_count=3,
)

DIAGNOSTICS: dict[str, tuple[float | str, float | None, str]] = {
    "terminality": (1, 1, "none"),
    "node_order": (0, 1, "none"),
    # n3 (absent), n4 and n5 (each other), n6 (absent link): 4 of 8.
    "parent_linkage": (4, 8, "lower"),
    "chronology_findings": (1, 8, "lower"),
    # n0, n1 and n3 ({} is recorded) have both: 3 of 8.
    "payload_coverage": (3, 8, "none"),
    # L and T are n1, n2, n3, n4, n6; costs on n1 and n3, and the session's own: 3 of 6.
    "cost_coverage": (3, 6, "none"),
    # n1 has both tokens, n6 only one, the session both: 2 of 3.
    "token_coverage": (2, 3, "none"),
    "resource_integrity": (0, None, "lower"),
    "duration_seconds": ("9.5", None, "none"),
}


@pytest.mark.parametrize("name", DIAGNOSTICS)
def test_session_diagnostics_counts_what_is_wrong(name: str) -> None:
    row = run("rejudge/session-diagnostics", BROKEN)[name]
    figure, maximum, direction = DIAGNOSTICS[name]

    assert (row.value if isinstance(figure, str) else row.score) == figure
    assert row.data_type == ("str" if isinstance(figure, str) else "float")
    assert (row.max_score, row.direction, row.passed) == (maximum, direction, None)
    assert row.min_score == (None if isinstance(figure, str) else 0)


def test_session_diagnostics_has_ten_rows_and_says_both_counts() -> None:
    rows = run("rejudge/session-diagnostics", BROKEN)

    assert list(rows) == [
        "terminality",
        "node_order",
        "parent_linkage",
        "chronology_findings",
        "payload_coverage",
        "recorded_counts",
        "duration_seconds",
        "cost_coverage",
        "token_coverage",
        "resource_integrity",
    ]
    assert json.loads(rows["recorded_counts"].value or "") == {
        "nodes": 8,
        "llm_calls": 2,
        "tool_calls": 3,
        "inferred_tool_calls": 1,
        "session": {"nodes": 7, "llm_calls": 2, "tool_calls": 3},
    }
    assert rows["parent_linkage"].evidence["nodes"] == ["n3", "n4", "n5", "n6"]
    assert rows["node_order"].evidence["nodes"] == ["n5"]
    assert rows["recorded_counts"].data_type == "str"


@pytest.mark.parametrize("status", ["completed", "failed", "in_progress", "timed_out", "crashed", "canceled"])
def test_terminality_is_completed_or_failed(status: Any) -> None:
    row = run("rejudge/session-diagnostics", session(status=status))["terminality"]

    assert row.score == (status in ("completed", "failed"))


LINKAGE = {
    "own parent": (session(tool("a", parent_id="n0")), ["n0"]),
    "a child of a cycle": (
        session(
            tool("a", parent_id="n1"), tool("b", parent_id="n0"), tool("c", parent_id="n0"), tool("d", parent_id="n2")
        ),
        ["n0", "n1", "n2"],
    ),
    "links in a ring": (session(*(span(link_ids=(f"n{(i + 1) % 3}",)) for i in range(3))), ["n0", "n1", "n2"]),
    "a chain of 5,000": (session(*(span(parent_id=f"n{i - 1}" if i else None) for i in range(5000))), []),
}


@pytest.mark.parametrize(("view", "wrong"), LINKAGE.values(), ids=LINKAGE.keys())
def test_parent_linkage_finds_cycles(view: SessionView, wrong: list[str]) -> None:
    assert run("rejudge/session-diagnostics", view)["parent_linkage"].evidence["nodes"] == wrong


def test_resource_integrity_counts_impossible_fields() -> None:
    # n0: negative cost, negative tokens, tokens that are no integer: 3. The session: a cost that is not finite: 1.
    facts: dict[str, Any] = {name: field.get_default() for name, field in Node.model_fields.items()}
    odd = Node.from_facts(
        facts
        | {"id": "n0", "index": 0, "node_type": "llm_call", "cost": Decimal(-1)}
        | {"input_tokens": -3, "output_tokens": 1.5, "cached_input_tokens": 0}
    )
    own: dict[str, Any] = {name: field.get_default() for name, field in Session.model_fields.items()}
    view = SessionView(Session.from_facts(own | {"id": "s1", "cost": Decimal("NaN")}), [odd])

    row = run("rejudge/session-diagnostics", view)["resource_integrity"]

    assert (row.score, row.evidence["nodes"], row.evidence["session_fields"]) == (4, ["n0"], ["cost"])


# 0-4, 1-3, 3-5 and 6-6: 0-4 overlaps 1-3 and 3-5; 1-3 and 3-5 only touch. n4 is reversed, n5 has no end.
TIMES = session(
    span(start=0, end=4),
    llm(start=1, end=3),
    tool("a", start=3, end=5),
    tool("b", start=6, end=6),
    tool("c", start=8, end=7),
    tool("d", start=9),
    start=0,
    end=10,
)


def test_timing_profile_of_six_nodes() -> None:
    rows = run("rejudge/timing-profile", TIMES, evidence_limit=2)

    assert [(row.name, row.data_type) for row in rows.values()] == [
        ("wall_clock_duration_seconds", "str"),
        ("node_duration_coverage", "float"),
        ("slowest_nodes", "str"),
        ("overlapping_intervals", "float"),
        ("invalid_intervals", "float"),
    ]
    assert rows["wall_clock_duration_seconds"].value == "10"
    assert (rows["node_duration_coverage"].score, rows["node_duration_coverage"].max_score) == (4, 6)
    assert json.loads(rows["slowest_nodes"].value or "") == {
        "nodes": [{"index": 0, "duration_seconds": 4.0}, {"index": 1, "duration_seconds": 2.0}],
        "total": 4,
        "truncated": True,
    }
    # Four valid intervals make 4 x 3 / 2 = 6 pairs.
    assert (rows["overlapping_intervals"].score, rows["overlapping_intervals"].max_score) == (2, 6)
    assert (rows["invalid_intervals"].score, rows["invalid_intervals"].max_score) == (1, 6)
    assert (rows["invalid_intervals"].direction, rows["overlapping_intervals"].direction) == ("lower", "none")
    assert all(row.passed is None for row in rows.values())


def test_timing_profile_without_times_says_unavailable() -> None:
    rows = run("rejudge/timing-profile", session(llm(), start=5, end=1))

    assert rows["wall_clock_duration_seconds"].value == "unavailable"
    assert json.loads(rows["slowest_nodes"].value or "") == {"nodes": [], "total": 0, "truncated": False}
    assert (rows["overlapping_intervals"].score, rows["overlapping_intervals"].max_score) == (0, 0)


def test_a_time_without_a_zone_is_utc() -> None:
    view = session(llm(started_at=at(0).replace(tzinfo=None), end=2), start=0, ended_at=at(3).replace(tzinfo=None))

    assert run("rejudge/timing-profile", view)["wall_clock_duration_seconds"].value == "3"
    assert run("rejudge/latency", view)["latency_seconds"].score == 3


def answer(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "parts": [{"type": "text", "content": text}]}]}


def test_llm_call_signals_of_six_calls() -> None:
    view = session(
        llm(inputs={"a": 1, "b": 2}, outputs=answer("hello"), model="m", provider="p", requested_model="m"),
        # The same inputs in another key order, and another model than asked for, with tokens: all four facts.
        llm(inputs={"b": 2, "a": 1}, outputs=answer(""), model="m-2", provider="p", requested_model="m",
            input_tokens=1, output_tokens=1),
        # 1.0 is not 1.
        llm(inputs={"b": 2, "a": 1.0}, outputs=None, status="failed"),
        llm(inputs=None, outputs={"messages": []}, status="timed_out"),
        llm(inputs=None, outputs={"messages": [{"role": "assistant", "parts": [{"type": "tool_call"}]}]}),
        tool("t", status="failed"),
        llm(inputs=[], outputs=[], status="canceled", model="m", input_tokens=3),
    )  # fmt: skip
    rows = run("rejudge/llm-call-signals", view)

    figures = {name: (row.data_type, row.score, row.max_score, row.direction) for name, row in rows.items()}
    assert figures == {
        "failed_calls": ("float", 2, 6, "lower"),
        "empty_results": ("float", 4, 6, "lower"),
        "adjacent_identical_inputs": ("float", 1, 5, "lower"),
        "requested_model_mismatches": ("float", 1, 6, "lower"),
        # n0: model, provider, requested = 3; n1: 4; n6: model = 1; 8 of 4 x 6.
        "metadata_coverage": ("float", 8, 24, "none"),
    }
    assert rows["empty_results"].evidence["nodes"] == ["n1", "n2", "n3", "n6"]
    assert rows["adjacent_identical_inputs"].evidence["nodes"] == ["n1"]
    assert all(row.passed is None and row.min_score == 0 for row in rows.values())


def test_llm_call_signals_of_no_calls() -> None:
    rows = run("rejudge/llm-call-signals", session())

    assert all((row.score, row.max_score) == (0, 0) for row in rows.values())
