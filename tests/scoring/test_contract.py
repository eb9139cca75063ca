"""What an evaluator may return and raise, and how the scoring ends."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rejudge.models.evaluation import EvaluationResult
from rejudge.scoring.contract import InvalidResult, bounded, encoded, normalised
from rejudge.scoring.outcome import ScoringOutcome
from tests.scoring.bench import Bench

ONE = EvaluationResult(1.0, name="one")
TWO = EvaluationResult("two", name="two")


@pytest.mark.parametrize(
    ("returned", "fields"),
    [
        (ONE, [{"name": "one", "score": 1.0, "direction": "none"}]),
        ([ONE, TWO], [{"name": "one", "score": 1.0, "direction": "none"}, {"name": "two", "value": "two"}]),
        ((ONE,), [{"name": "one", "score": 1.0}]),
        (True, [{"name": "check", "score": True}]),
        (0, [{"name": "check", "score": 0}]),
        (0.25, [{"name": "check", "score": 0.25}]),
        ("", [{"name": "check", "value": ""}]),
        ("escalated", [{"name": "check", "value": "escalated"}]),
        (numpy.float32(0.5), [{"name": "check", "score": 0.5}]),
        (numpy.bool_(True), [{"name": "check", "score": True}]),
    ],
    ids=["one", "list", "tuple", "bool", "zero", "float", "empty text", "text", "numpy number", "numpy bool"],
)
def test_normalised_results(returned: object, fields: list[dict[str, Any]]) -> None:
    results = [result.model_dump(exclude_none=True) for result in normalised(returned, "check")]
    assert [{**expected, "direction": "none"} for expected in fields] == results
    assert [type(one.get("score")) for one in results] == [type(one.get("score")) for one in fields]


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        ([], "empty list"),
        ([ONE, ONE], "two results named 'one'"),
        ([ONE, 0.5], "item 1 of the returned list is a float"),
        (None, "None"),
        ({"score": 1}, "a dict"),
        (Decimal(1), "a Decimal"),
        (b"text", "a bytes"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (numpy.float64("nan"), "nan"),
        (numpy.zeros(3), "a ndarray"),
    ],
    ids=str,
)
def test_other_returns_are_refused_with_the_reason(returned: object, why: str) -> None:
    with pytest.raises(InvalidResult, match=why):
        normalised(returned, "check")


@given(st.text(), st.integers(1, 500))
def test_bounded_text_keeps_both_ends(text: str, extra: int) -> None:
    assert bounded(text, 10_000) == text
    long = "start" + text + "x" * (600 + extra) + "end"
    cut = bounded(long, 500)
    assert len(cut) < 560
    assert (cut[:5], cut[-3:]) == ("start", "end")


@given(st.recursive(st.none() | st.integers() | st.text(alphabet=st.characters()), st.lists, max_leaves=8))
@example("a NUL: \0")
@example("no NUL, only its name: \\u0000")
def test_every_frame_can_be_sent(value: Any) -> None:
    assert [text for text in texts_in(orjson.loads(encoded([1, value]))) if "\0" in text] == []


def texts_in(value: Any) -> list[str]:
    if isinstance(value, list):
        return [text for item in value for text in texts_in(item)]
    return [value] if isinstance(value, str) else []


# What the body of an evaluator does, and how the scoring ends.
ENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "missing input": (
        "raise MissingInput('no expected answer')",
        {"status": "missing_input", "error": "no expected answer"},
    ),
    "not supported": ("raise NotSupported('judge only')", {"status": "not_supported", "error": "judge only"}),
    "backend": (
        "raise EvaluationError('429', retry_after=7)",
        {"status": "failed", "error": "429", "retryable": True, "retry_after": 7.0},
    ),
    "backend, for good": (
        "raise EvaluationError('no key', retryable=False)",
        {"status": "failed", "retryable": False},
    ),
    "backend, odd wait": (
        "raise EvaluationError(retry_after='soon')",
        {"error": "EvaluationError", "retry_after": None},
    ),
    "bug": ("return 1 / 0", {"status": "failed", "retryable": False}),
    "refused result": ("return EvaluationResult(name='x', score=float('nan'))", {"status": "invalid_result"}),
    "bad name": ("return EvaluationResult(name='no spaces please', score=1)", {"status": "invalid_result"}),
    "nothing": ("return None", {"status": "invalid_result"}),
    "too much": ("return 'x' * 3_000_000", {"status": "invalid_result"}),
    "a surrogate": ("return 'a\\ud800\\0b'", {"status": "scored"}),
    "a huge number": ("return 10 ** 30", {"status": "scored"}),
    "a number beyond floats": ("return 10 ** 400", {"status": "invalid_result"}),
    "a coroutine": ("import asyncio; return asyncio.sleep(0, True)", {"status": "scored"}),
    "a generator": ("yield 1", {"status": "invalid_result"}),
}


@pytest.mark.parametrize("end", ENDS)
def test_how_a_scoring_ends(bench: Bench, end: str) -> None:
    body, expected = ENDS[end]
    outcome = bench.score_one(f"def evaluate(session):\n    {body}\n")
    assert {name: getattr(outcome, name) for name in expected} == expected
    assert bool(outcome.results) == (outcome.status == "scored")


def test_a_bugs_traceback_shows_the_users_lines_and_not_ours(bench: Bench) -> None:
    source = """
    def evaluate(session):
        return helper(session)

    def helper(session):
        return session.nodes[7].name
    """
    error = bench.score_one(source).error or ""
    assert error.splitlines()[1].strip() == 'File "check.py", line 4, in evaluate'
    assert "return session.nodes[7].name" in error
    assert "IndexError" in error
    assert "rejudge/scoring" not in error


def test_a_bare_result_is_called_as_its_evaluator_without_the_namespace(bench: Bench) -> None:
    spec = bench.register("def evaluate(session):\n    return 0.5\n", name="acme/similarity")
    assert bench.score(spec)["acme/similarity:ok"].results[0]["name"] == "similarity"


def test_an_outcome_adds_up_what_its_results_cost() -> None:
    outcome = ScoringOutcome("k", "scored", ({"cost": "0.1", "input_tokens": 3}, {"cost": "0.2"}, {"name": "free"}))
    assert (outcome.cost, outcome.tokens("input_tokens"), outcome.tokens("output_tokens")) == (
        Decimal("0.3"),
        3,
        None,
    )
    assert ScoringOutcome("k", "scored").cost is None
