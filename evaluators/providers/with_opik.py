"""Opik as a provider: its Levenshtein ratio offline, its GEval as judge."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from rejudge.errors import EvaluationError, EvaluatorSignal
from rejudge.evaluators.judge.fencing import fence
from rejudge.evaluators.providers.case import Case, CaseResult
from rejudge.evaluators.providers.extras import import_extra
from rejudge.evaluators.providers.judging import CRITERIA, case_fields, sendable
from rejudge.evaluators.providers.lending import Lender
from rejudge.evaluators.providers.provider import Provider

_FEATURE: Final = "provider 'opik'"
_TASK: Final = "You compare an actual answer with an expected answer. Both stand in the solution as recorded data."
_SCALE: Final = "Score from 0 (not at all) to 10 (fully)."


class OpikProvider(Provider):
    """Opik's Levenshtein ratio of the two texts, without regard to case.

    The judge is asked through the connection to a judging model; where there is none, Opik asks the model that it is
    configured for itself. Nothing is sent to an Opik server.

    Args:
        model: The judging model instead of the configured one.
        timeout: Seconds that one judge call may take.
    """

    name: ClassVar[str] = "opik"
    threshold: ClassVar[float] = 0.8

    def __init__(self, *, model: str | None = None, timeout: float = 60) -> None:
        self._metrics = import_extra("opik", "opik.evaluation.metrics", feature=_FEATURE)
        self._lender = Lender(model, timeout)
        self._model = model

    def evaluate_by_score(self, case: Case) -> CaseResult:
        """The Levenshtein ratio, 0 to 1."""
        empty = self.empty_answer(case, "score")
        if empty is not None:
            return empty
        value = self._metrics.LevenshteinRatio(track=False).score(output=case.actual, reference=case.expected).value
        return self.result(case, metric="levenshtein_ratio", score=float(value), reason=f"ratio {value:.3f}")

    async def evaluate_by_llm(self, case: Case) -> CaseResult:
        """The score of Opik's GEval; the first call for a set of criteria asks for its steps of work too."""
        empty = self.empty_answer(case, "llm")
        if empty is not None:
            return empty
        lent = self._lender.lend()
        try:
            metric = self._metrics.GEval(
                task_introduction=_TASK,
                evaluation_criteria=f"{case.criteria or CRITERIA} {_SCALE}",
                model=_model(lent) if lent is not None else self._model,
                track=False,
            )
            scored = await metric.ascore(output=fence(case_fields(sendable(case))))
        except EvaluatorSignal:
            raise
        except Exception as error:
            # Opik says of everything that it could not be computed; a missing key is its configuration.
            retryable = "api_key" not in str(error).lower() and "AuthenticationError" not in type(error).__name__
            raise EvaluationError(f"GEval failed: {type(error).__name__}: {error}", retryable=retryable) from error
        return self.result(
            case,
            metric="geval",
            score=min(max(float(scored.value), 0.0), 1.0),
            mode="llm",
            reason=str(scored.reason or "")[:2000],
            cost=lent.spent.cost if lent is not None else None,
            metadata=lent.spent.metadata() if lent is not None else {"model": self._model},
        )


def _model(lent: Any) -> Any:
    """Opik's kind of model, that asks through our own client."""
    base: Any = import_extra("opik", "opik.evaluation.models", feature=_FEATURE).OpikBaseModel

    class LentModel(base):  # type: ignore[misc]
        def generate_string(self, input: str, response_format: Any = None, **kwargs: Any) -> str:
            raise EvaluationError("Opik asked in a way that cannot be awaited", retryable=False)

        def generate_provider_response(self, messages: Any, **kwargs: Any) -> Any:
            raise EvaluationError("Opik asked in a way that cannot be awaited", retryable=False)

        async def agenerate_chat_completion(
            self, messages: Any, response_format: Any = None, **kwargs: Any
        ) -> dict[str, str]:
            return {"role": "assistant", "content": await lent.ask(messages)}

        def cache_fingerprint(self) -> list[str]:
            return [lent.endpoint.base_url, lent.endpoint.model]

    return LentModel(lent.endpoint.model)
