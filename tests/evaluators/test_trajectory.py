"""trajectory-signals and tool-health, worked by hand."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejudge.evaluators.repeating import short_cycles
from rejudge.models import SessionView
from tests.evaluators.build import llm, run, session, tool


def calls(letters: str) -> SessionView:
    """One tool call per letter; a capital is a failed call of the same tool, a dot one without inputs."""
    return session(
        *(
            tool(letter.lower(), inputs={"q": 1}, status="failed" if letter.isupper() else "completed", error="e")
            if letter != "."
            else tool("x")
            for letter in letters
        )
    )


def test_trajectory_signals_of_seven_calls() -> None:
    # a a: identical; A a: identical after a failure; . has no inputs, so no identity, and equals nothing.
    rows = run("rejudge/trajectory-signals", calls("aaAa..b"))

    figures = {name: (row.data_type, row.score, row.max_score, row.direction) for name, row in rows.items()}
    assert figures == {
        "tool_identity_coverage": ("float", 5, 7, "none"),
        "adjacent_identical_calls": ("float", 3, 6, "lower"),
        "failed_identical_retries": ("float", 1, 6, "lower"),
        "short_cycles": ("float", 0, None, "lower"),
        "cycle_detector_bounds": ("str", None, None, "none"),
    }
    assert json.loads(rows["cycle_detector_bounds"].value or "") == {
        "min_period": 2,
        "max_period": 5,
        "min_repetitions": 3,
    }
    assert rows["failed_identical_retries"].evidence["nodes"] == ["n3"]
    assert all(row.passed is None for row in rows.values())


def test_identity_is_the_name_and_the_canonical_inputs() -> None:
    view = session(
        tool("a", inputs={"x": 1, "y": 2}),
        tool("a", inputs={"y": 2, "x": 1}),
        tool("a", inputs={"y": 2, "x": 1.0}),
        tool("a", inputs={"y": math.nan}),
        tool("a", inputs={"y": math.nan}),
        llm(),
        tool("a", inputs="é"),
        tool("a", inputs="é"),
    )
    row = run("rejudge/trajectory-signals", view)["adjacent_identical_calls"]

    # Only key order does not matter; NaN has no canonical text; a model call in between does not separate tools.
    assert row.evidence["nodes"] == ["n1", "n7"]


CYCLES: dict[str, tuple[str, list[tuple[int, int, int]]]] = {
    "ab three times": ("ababab", [(0, 2, 3)]),
    "twice is none": ("abab", []),
    "a start in the middle": ("xabcabcabcy", [(1, 3, 3)]),
    "the longest at one start": ("abababababx", [(0, 2, 5)]),
    "a repetition of a repetition counts under its own period": ("abababababab", [(0, 2, 6)]),
    "one call again and again is no cycle": ("aaaaaaaaaaaa", []),
    "two apart": ("abababxcdcdcd", [(0, 2, 3), (7, 2, 3)]),
    "overlapping ones count once": ("abababcabcabc", [(0, 2, 3)]),
    "the next one begins where the last ended": ("abababcdcdcd", [(0, 2, 3), (6, 2, 3)]),
    "period five": ("abcdeabcdeabcde", [(0, 5, 3)]),
    "period six is too long": ("abcdefabcdefabcdef", []),
    "aab": ("aabaabaab", [(0, 3, 3)]),
    "a call without inputs breaks it": ("abab.ab", []),
}


@pytest.mark.parametrize(("letters", "cycles"), CYCLES.values(), ids=CYCLES.keys())
def test_short_cycles(letters: str, cycles: list[tuple[int, int, int]]) -> None:
    row = run("rejudge/trajectory-signals", calls(letters))["short_cycles"]

    assert row.score == len(cycles)
    assert row.evidence["cycles"] == [
        {"node": f"n{start}", "period": period, "repetitions": times} for start, period, times in cycles
    ]


@given(st.text("abc", max_size=40))
def test_short_cycles_agree_with_looking_at_every_stretch(text: str) -> None:
    def primitive(unit: str) -> bool:
        return unit not in (unit + unit)[1:-1]

    expected, position = [], 0
    while position < len(text):
        found = [
            (period * times, -period)
            for period in range(2, 6)
            for times in range(3, len(text) // period + 1)
            if primitive(unit := text[position : position + period]) and text.startswith(unit * times, position)
        ]
        if found:
            length, period = max(found)
            expected.append((position, -period, length // -period))
        position += max(found)[0] if found else 1

    assert [(cycle.start, cycle.period, cycle.repetitions) for cycle in short_cycles(text)] == expected


def test_tool_health_of_eight_calls() -> None:
    view = session(
        tool("a", outputs="fine"),
        tool("a", outputs=None, status="failed", error="boom"),
        tool("a", outputs="", status="failed"),  # failed, and no error: inconsistent
        tool("b", outputs=[], error="but completed"),  # an error, and not failed: inconsistent
        tool("b", outputs={}),
        tool(None, outputs=0, status="failed", error_type="E"),
        tool(None, outputs=False, status="crashed", error="gone"),  # no name: not known to be the same tool
        tool("c", outputs=None, status="canceled"),
        tool("c", outputs=None, status="failed", inferred=True),  # only asked for: no recorded call
    )
    rows = run("rejudge/tool-health", view)

    figures: dict[str, tuple[Any, ...]] = {
        name: (row.data_type, row.score, row.max_score, row.evidence["nodes"]) for name, row in rows.items()
    }
    assert figures == {
        "failed_calls": ("float", 4, 8, ["n1", "n2", "n5", "n6"]),
        "null_results": ("float", 2, 8, ["n1", "n7"]),
        "empty_results": ("float", 3, 8, ["n2", "n3", "n4"]),
        "error_status_inconsistencies": ("float", 2, 8, ["n2", "n3"]),
        "adjacent_repeated_failures": ("float", 1, 7, ["n2"]),
    }
    assert all((row.direction, row.min_score, row.passed) == ("lower", 0, None) for row in rows.values())


def test_tool_health_of_no_calls() -> None:
    rows = run("rejudge/tool-health", session(llm()))

    assert all((row.score, row.max_score) == (0, 0) for row in rows.values())
