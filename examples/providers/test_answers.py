"""Answers of an agent, compared by providers of one's own. Run it here: ``pytest``."""

from __future__ import annotations

import pytest

from rejudge.errors import NotSupported
from rejudge.testing import compare


def answer(question: str) -> str:
    """Stands for the agent under test."""
    return {"Where is my money?": "Your refund was sent today."}.get(question, "I do not know.")


def test_the_answer_has_the_expected_words(rejudge) -> None:  # type: ignore[no-untyped-def]
    result = rejudge.compare(
        answer("Where is my money?"), ["The refund was sent"], provider="own_provider:WordCoverage"
    )

    assert result.score == 0.75  # refund and sent and was are there, "the" is not


def test_a_judge_has_the_last_word() -> None:
    result = compare(
        answer("Where is my money?"),
        ["You will get a refund tomorrow"],
        user_input="Where is my money?",
        mode="fallback",
        provider="own_provider:WordCoverage",
        options={"least": 4},
        return_result=True,
    )

    assert (result.mode, result.passed, len(result.attempts)) == ("llm", True, 1)


def test_a_library_scores_without_a_judge() -> None:
    compare("Your refund was sent today.", ["Your refund was sent today!"], provider="with_difflib:DifflibProvider")
    with pytest.raises(NotSupported):
        compare("x", ["y"], mode="llm", provider="with_difflib:DifflibProvider")
