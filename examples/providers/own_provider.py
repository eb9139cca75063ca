"""A provider of one's own: how many of the expected words the answer has, and a judge that is just a rule.

from rejudge.testing import compare
compare("The refund was sent today.", ["refund sent"], provider="own_provider:WordCoverage")
"""

from __future__ import annotations

import re

from rejudge.errors import EvaluationError
from rejudge.evaluators.providers import Case, CaseResult, Provider


class WordCoverage(Provider):
    """Scores the share of the expected answer's words that the actual answer has.

    Args:
        least: Words shorter than this do not count.
    """

    name = "word-coverage"
    threshold = 0.75

    def __init__(self, least: int = 3) -> None:
        self._least = least

    def evaluate_by_score(self, case: Case) -> CaseResult:
        """The share, 0 to 1; the same for the same case, without any model."""
        expected, actual = self._words(case.expected), self._words(case.actual)
        missing = sorted(expected - actual)
        score = 1 - len(missing) / len(expected) if expected else 1.0
        return self.result(
            case, metric="word_coverage", score=score, reason=f"missing: {', '.join(missing) or 'none'}"
        )

    async def evaluate_by_llm(self, case: Case) -> CaseResult:
        """Ask your own judge here; raise EvaluationError where it fails, and never return 0.0 for that."""
        verdict = await ask_somebody(case.actual, case.expected)
        if verdict is None:
            raise EvaluationError("nobody answered", retry_after=5)
        return self.result(case, metric="somebody", score=verdict, mode="llm", metadata={"model": "somebody"})

    def _words(self, text: str) -> set[str]:
        return {word for word in re.findall(r"\w+", text.casefold()) if len(word) >= self._least}


async def ask_somebody(actual: str, expected: str) -> float | None:
    """Stands for a call to a judge: here it thinks that a refund is a refund."""
    if not actual:
        return None
    return float(("refund" in actual.casefold()) == ("refund" in expected.casefold()))
