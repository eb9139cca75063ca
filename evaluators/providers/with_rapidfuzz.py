"""The default provider: exact, normalised and fuzzy match offline, and a judge by any OpenAI-compatible endpoint."""

from __future__ import annotations

import unicodedata
from typing import Any, ClassVar

from rejudge.evaluators.providers.case import Case, CaseResult
from rejudge.evaluators.providers.judging import judge_case
from rejudge.evaluators.providers.provider import Provider


class RapidfuzzProvider(Provider):
    """1.0 where the texts are the same, or the same but for case, width, spaces and outer punctuation; else their
    normalised edit similarity.

    Args:
        model: The judging model instead of the connection's.
        timeout: Seconds that one judge call may take.
    """

    name: ClassVar[str] = "rejudge"
    threshold: ClassVar[float] = 0.8

    def __init__(self, *, model: str | None = None, timeout: float = 60) -> None:
        self._model = model
        self._timeout = timeout

    def evaluate_by_score(self, case: Case) -> CaseResult:
        """The similarity of the two texts, 0 to 1."""
        empty = self.empty_answer(case, "score")
        if empty is not None:
            return empty
        if case.actual == case.expected:
            return self._similar(case, 1.0, "exact match")
        actual, expected = normalised(case.actual), normalised(case.expected)
        if actual == expected:
            return self._similar(case, 1.0, "the same but for case, spaces and outer punctuation")
        from rapidfuzz import fuzz

        score = fuzz.ratio(actual, expected) / 100
        return self._similar(case, score, f"edit similarity {score:.3f}")

    async def evaluate_by_llm(self, case: Case) -> CaseResult:
        """What a judge says of the answer, 0 to 1."""
        empty = self.empty_answer(case, "llm")
        if empty is not None:
            return empty
        return await judge_case(self, case, model=self._model, timeout=self._timeout)

    def _similar(self, case: Case, score: float, reason: str, **more: Any) -> CaseResult:
        return self.result(case, metric="similarity", score=score, reason=reason, **more)


def normalised(text: str) -> str:
    """Text without what rarely matters: compatibility forms, case, runs of spaces, punctuation at either end."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    start, end = 0, len(folded)
    while start < end and _is_outer(folded[start]):
        start += 1
    while end > start and _is_outer(folded[end - 1]):
        end -= 1
    return folded[start:end] or folded


def _is_outer(character: str) -> bool:
    # Signs of money and mathematics (Sc, Sm) and the minus in front of a number say something.
    return character.isspace() or (unicodedata.category(character).startswith("P") and character not in "-%#@/")
