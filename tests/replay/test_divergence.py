"""Where a replay leaves its baseline, and how that is said."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from rejudge.models.session import SessionView
from rejudge.replay import aligned_steps, first_divergence, same_output, same_steps

from .build import START, model, session, tool

A, B, C = tool("a", {"x": 1}, "ra"), tool("b", {}, "rb"), tool("c", {}, "rc")
ASK, TELL = model("hi", "calling a"), model("done?", "done")


@pytest.mark.parametrize(
    ("baseline", "replay", "kind", "step", "sides"),
    [
        ([ASK, A, TELL], [ASK, A, TELL], None, None, None),
        ([A, B], [tool("a", {"x": 2}, "ra"), B], "arguments", 0, ("a", "a")),
        ([ASK, A], [model("hello", "calling a"), A], "arguments", 0, ("desk", "desk")),
        ([ASK, A], [{**ASK, "requested_model": "other"}, A], "arguments", 0, ("desk", "other")),
        ([A, B], [A, C, B], "extra", 1, ("b", "c")),
        ([A], [A, B], "extra", 1, (None, "b")),
        ([A, B], [A, C], "extra", 1, ("b", "c")),
        ([A, B, C], [A, C], "missing", 1, ("b", "c")),
        ([A, B], [A], "missing", 1, ("b", None)),
        ([A, B, C], [A, C, B], "order", 1, ("b", "c")),
        ([A, B], [tool("a", {"x": 1}, "other"), B], "result", 0, ("a", "a")),
        ([A, B], [tool("a", {"x": 1}, None, status="failed", error="no"), B], "result", 0, ("a", "a")),
        ([ASK, A], [model("hi", "calling b"), A], "model_text", 0, ("desk", "desk")),
        ([], [], None, None, None),
    ],
    ids=[
        "equal", "tool-arguments", "model-request", "other-model", "extra", "extra-at-the-end", "another-tool",
        "missing", "missing-at-the-end", "order", "result", "failure", "model-text", "empty",
    ],
)  # fmt: skip
def test_the_first_difference_has_its_kind_and_both_sides(
    baseline: list[Any], replay: list[Any], kind: str | None, step: int | None, sides: Any
) -> None:
    found = first_divergence(session(*baseline), session(*replay))
    assert (found and found.kind) == kind
    if found is not None:
        assert found.step == step and found.message
        assert (found.baseline and found.baseline.name, found.replay and found.replay.name) == sides


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [({"outputs": "x"}, {"outputs": "x"}, True), ({"outputs": "x"}, {"outputs": "y"}, False),
     ({"outputs": "x"}, {"status": "failed", "error": "no"}, False)],
    ids=["same", "other", "failed"],
)  # fmt: skip
def test_the_output_is_the_last_thing_to_differ(left: Any, right: Any, same: bool) -> None:
    baseline, replay = session(A, **left), session(A, **right)
    found = first_divergence(baseline, replay)
    assert same_output(baseline.session, replay.session) is same
    assert (found is None) is same and (found is None or (found.kind, found.step) == ("output", 1))


def beside(view: SessionView) -> SessionView:
    """The same session with its calls overlapping."""
    late = START + timedelta(seconds=100)
    return SessionView(view.session, [node.model_copy(update={"ended_at": late}) for node in view.nodes])


def test_calls_side_by_side_may_come_in_any_order() -> None:
    assert first_divergence(beside(session(A, B, C)), session(C, A, B)) is None
    assert first_divergence(session(A, B, C), beside(session(C, A, B))) is None
    assert first_divergence(beside(session(A, B)), session(A, C)) is not None


def test_what_ran_inside_a_call_that_the_tape_answered_is_not_missed() -> None:
    inner = {**model("sub task", "sub answer"), "id": "inner", "parent_id": "outer"}
    baseline = session(ASK, {**A, "id": "outer"}, inner, TELL)
    replay = session(ASK, {**A, "attributes": {"rejudge.answer": "history"}}, TELL)
    assert first_divergence(baseline, replay) is None
    assert same_steps(baseline, replay, "llm_call")
    live = session(ASK, {**A, "attributes": {"rejudge.answer": "live"}}, TELL)
    found = first_divergence(baseline, live)
    assert found is not None and found.kind == "missing"


def test_what_was_not_captured_cannot_differ() -> None:
    hidden = {**model("hi"), "inputs": None, "outputs": None, "incomplete": "not captured"}
    assert first_divergence(session(hidden, A), session(ASK, A)) is None


def test_ids_that_a_framework_generated_for_a_result_are_no_difference() -> None:
    parts = [[{"type": "text", "text": "18 °C", "id": f"lc_{uuid4()}"}] for _ in range(2)]
    assert first_divergence(*(session(tool("a", {}, part)) for part in parts)) is None
    own = [[{"type": "order", "id": made}] for made in ("lc_1", "lc_2")]
    found = first_divergence(*(session(tool("a", {}, part)) for part in own))
    assert found is not None and found.kind == "result"


def test_each_kind_of_step_is_told_apart() -> None:
    baseline, replay = session(ASK, A, TELL), session(ASK, B, TELL)
    assert same_steps(baseline, replay, "llm_call") and not same_steps(baseline, replay, "tool_call")


@pytest.mark.parametrize(
    ("baseline", "replay", "states"),
    [
        ([ASK, A, TELL], [ASK, A, TELL], ["same", "same", "same"]),
        ([A, B], [tool("a", {"x": 2}), B], ["changed", "same"]),
        ([A, B, C], [A, C], ["same", "missing", "same"]),
        ([A, C], [A, B, C], ["same", "extra", "same"]),
        ([A, B], [A, C], ["same", "missing", "extra"]),
        ([A, B], [tool("a", {"x": 1}, "other"), B], ["result", "same"]),
        ([ASK, A], [{**ASK, "requested_model": "other"}, A], ["changed", "same"]),
        ([], [A], ["extra"]),
    ],
)
def test_two_sessions_are_laid_side_by_side(baseline: list[Any], replay: list[Any], states: list[str]) -> None:
    rows = aligned_steps(session(*baseline), session(*replay))
    assert [row.state for row in rows] == states
    assert [row.baseline.index for row in rows if row.baseline] == list(range(len(baseline)))
    assert [row.replay.index for row in rows if row.replay] == list(range(len(replay)))


def test_side_by_side_calls_are_paired_whatever_their_order() -> None:
    rows = aligned_steps(beside(session(A, B, C)), beside(session(C, A, B)))
    assert [row.state for row in rows] == ["same"] * 3
