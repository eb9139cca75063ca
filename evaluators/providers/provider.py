"""What a provider is: the extension point."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, ClassVar

from rejudge.errors import NotSupported
from rejudge.evaluators.providers.case import CallMode, Case, CaseResult


class Provider:
    """Scores answers; subclass it and override what it can do, sync or async.

    A provider is made once per process and configuration, and may be called from several threads. It raises
    `MissingInput`, `NotSupported` and `EvaluationError` as every evaluator does, never an AssertionError; whether a
    failure is fatal is not its business.

    Example:
        >>> class Exact(Provider):
        ...     name = "exact"
        ...     def evaluate_by_score(self, case: Case) -> CaseResult:
        ...         return self.result(case, metric="exact", score=float(case.actual == case.expected))
        >>> Exact().evaluate_by_score(Case(actual="a", expected="a")).passed
        True
    """

    name: ClassVar[str] = ""
    """The provider's name on results; the class's own where it is empty."""
    threshold: ClassVar[float] = 0.5
    """From which score on a case passes that brings no threshold of its own."""

    def evaluate_by_score(self, case: Case) -> CaseResult | Awaitable[CaseResult]:
        """The score without any model call, the same for the same case.

        Raises:
            NotSupported: Where the provider has none.
        """
        raise NotSupported(f"provider {self.label} has no score without a judge; use mode 'llm'")

    def evaluate_by_llm(self, case: Case) -> CaseResult | Awaitable[CaseResult]:
        """The score that a judging model gives.

        Raises:
            NotSupported: Where the provider has no judge.
        """
        raise NotSupported(f"provider {self.label} has no judge; use mode 'score'")

    @property
    def label(self) -> str:
        """The name shown on results."""
        return self.name or type(self).__name__

    def threshold_for(self, case: Case) -> float:
        """The case's threshold, else the provider's own."""
        return self.threshold if case.threshold is None else case.threshold

    def result(
        self, case: Case, *, metric: str, score: float | None, mode: CallMode = "score", **more: Any
    ) -> CaseResult:
        """A result for a case, with its verdict: passed from the threshold on."""
        threshold = self.threshold_for(case)
        return CaseResult(
            metric=metric,
            provider=self.label,
            score=score,
            threshold=threshold,
            passed=None if score is None else score >= threshold,
            mode=mode,
            expected=case.expected,
            **more,
        )

    def empty_answer(self, case: Case, mode: CallMode) -> CaseResult | None:
        """The scored 0.0 of an empty answer where one was expected; None where there is something to score."""
        if case.actual.strip() or not case.expected.strip():
            return None
        result = self.result(case, metric="empty_answer", score=0.0, mode=mode, reason="the answer is empty")
        return result.model_copy(update={"passed": False})
