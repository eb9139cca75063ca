"""DeepEval as a provider: its quasi exact match offline, its GEval as judge."""

from __future__ import annotations

from typing import Any, ClassVar

from rejudge.errors import EvaluationError, EvaluatorSignal
from rejudge.evaluators.providers.case import Case, CaseResult
from rejudge.evaluators.providers.extras import import_extra
from rejudge.evaluators.providers.judging import CRITERIA, sendable
from rejudge.evaluators.providers.lending import Lender
from rejudge.evaluators.providers.provider import Provider

_FEATURE = "provider 'deepeval'"


class DeepevalProvider(Provider):
    """1.0 where the texts are the same after DeepEval's normalisation (case, articles, punctuation), else 0.0.

    The judge is asked through the connection to a judging model; where there is none, DeepEval asks the model that
    it is configured for itself.

    Args:
        model: The judging model instead of the configured one.
        timeout: Seconds that one judge call may take.
    """

    name: ClassVar[str] = "deepeval"
    threshold: ClassVar[float] = 0.5

    def __init__(self, *, model: str | None = None, timeout: float = 60) -> None:
        self._scorer = import_extra("deepeval", "deepeval.scorer", feature=_FEATURE).Scorer
        self._lender = Lender(model, timeout)
        self._model = model

    def evaluate_by_score(self, case: Case) -> CaseResult:
        """1.0 or 0.0: DeepEval's quasi exact match."""
        empty = self.empty_answer(case, "score")
        if empty is not None:
            return empty
        score = float(self._scorer.quasi_exact_match_score(case.expected, case.actual))
        reason = "the same after normalisation" if score else "not the same after normalisation"
        return self.result(case, metric="quasi_exact_match", score=score, reason=reason)

    async def evaluate_by_llm(self, case: Case) -> CaseResult:
        """The score of DeepEval's GEval, by one call."""
        empty = self.empty_answer(case, "llm")
        if empty is not None:
            return empty
        lent = self._lender.lend()
        try:
            metric = self._metric(case, _model(lent) if lent is not None else self._model)
            await metric.a_measure(_test_case(sendable(case)), _show_indicator=False)
        except EvaluatorSignal:
            raise
        except Exception as error:
            retryable = not _is_configuration(error)
            raise EvaluationError(f"GEval failed: {type(error).__name__}: {error}", retryable=retryable) from error
        return self.result(
            case,
            metric="geval",
            score=min(max(float(metric.score), 0.0), 1.0),
            mode="llm",
            reason=str(metric.reason or "")[:2000],
            cost=lent.spent.cost if lent is not None else None,
            metadata=lent.spent.metadata() if lent is not None else {"model": str(metric.evaluation_model)},
        )

    def _metric(self, case: Case, model: Any) -> Any:
        metrics = import_extra("deepeval", "deepeval.metrics", feature=_FEATURE)
        fields = import_extra("deepeval", "deepeval.test_case", feature=_FEATURE).SingleTurnParams
        looked_at = [fields.ACTUAL_OUTPUT, fields.EXPECTED_OUTPUT]
        looked_at += [fields.INPUT] if case.user_input else []
        looked_at += [fields.CONTEXT] if case.context else []
        # Steps are given, so that GEval need not ask for them first.
        return metrics.GEval(
            name="answer_match",
            evaluation_params=looked_at,
            evaluation_steps=[case.criteria or CRITERIA],
            model=model,
            threshold=self.threshold_for(case),
            async_mode=False,
        )


def _test_case(case: Case) -> Any:
    kind = import_extra("deepeval", "deepeval.test_case", feature=_FEATURE).LLMTestCase
    context = list(case.context) or None
    return kind(
        input=case.user_input or "", actual_output=case.actual, expected_output=case.expected, context=context
    )


def _model(lent: Any) -> Any:
    """DeepEval's kind of model, that asks through our own client."""
    base: Any = import_extra("deepeval", "deepeval.models", feature=_FEATURE).DeepEvalBaseLLM

    class LentModel(base):  # type: ignore[misc]
        def load_model(self, *args: Any, **kwargs: Any) -> Any:
            return self

        def get_model_name(self, *args: Any, **kwargs: Any) -> str:
            return str(lent.endpoint.model)

        def generate(self, prompt: str, schema: Any = None) -> Any:
            raise EvaluationError("GEval asked in a way that cannot be awaited", retryable=False)

        async def a_generate(self, prompt: str, schema: Any = None) -> Any:
            return await lent.ask([{"role": "user", "content": str(prompt)}])

    return LentModel(lent.endpoint.model)


def _is_configuration(error: Exception) -> bool:
    return type(error).__name__ in ("DeepEvalError", "MissingTestCaseParamsError") or "API key" in str(error)
