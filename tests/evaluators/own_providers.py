"""Providers as a user would write them, reached by dotted path in these tests."""

from __future__ import annotations

from rejudge.errors import EvaluationError
from rejudge.evaluators.providers import Case, CaseResult, Provider


class Scripted(Provider):
    """Scores by rule: equal texts pass by score, ``~x`` passes by judge, ``!`` fails to be judged."""

    name = "scripted"
    made = 0

    def __init__(self, tag: str = "", threshold: float | None = None) -> None:
        type(self).made += 1
        self.tag = tag
        self.calls: list[tuple[str, str]] = []

    def evaluate_by_score(self, case: Case) -> CaseResult:
        self.calls.append(("score", case.expected))
        return self.result(case, metric="equal", score=float(case.actual == case.expected))

    async def evaluate_by_llm(self, case: Case) -> CaseResult:
        self.calls.append(("llm", case.expected))
        if case.expected.startswith("!"):
            raise EvaluationError("the judge is away", retry_after=3)
        return self.result(case, metric="judged", score=0.9 if case.expected.startswith("~") else 0.1, reason="so")


class JudgeOnly(Provider):
    """Has no score."""

    name = "judge-only"

    def evaluate_by_llm(self, case: Case) -> CaseResult:
        return self.result(case, metric="judged", score=1.0 if case.expected == "yes" else 0.0)


class ScoreOnly(Provider):
    """Has no judge."""

    async def evaluate_by_score(self, case: Case) -> CaseResult:
        return self.result(case, metric="nothing", score=0.0)


class Unscored(Provider):
    """Answers without a score."""

    def evaluate_by_score(self, case: Case) -> CaseResult:
        return self.result(case, metric="none", score=None, reason="cannot tell")


class Wrong(Provider):
    """Returns no result."""

    def evaluate_by_score(self, case: Case) -> CaseResult:
        return "fine"  # type: ignore[return-value]


NOT_A_PROVIDER = 3
