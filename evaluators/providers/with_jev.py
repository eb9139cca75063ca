"""TypeSafe's Jev as a provider: a judge that answers a yes/no question with a probability."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from rejudge.errors import EvaluationError
from rejudge.evaluators.providers.case import Case, CaseResult
from rejudge.evaluators.providers.extras import import_extra
from rejudge.evaluators.providers.judging import CRITERIA, case_fields, sendable
from rejudge.evaluators.providers.provider import Provider

_FEATURE: Final = "provider 'jev'"


class JevProvider(Provider):
    """A judge only; its key is what its library reads itself: ``TYPESAFE_API_KEY``.

    Args:
        model: The judging model instead of ``TYPESAFE_DEFAULT_MODEL``.
        timeout: Seconds that one call may take.
    """

    name: ClassVar[str] = "jev"
    threshold: ClassVar[float] = 0.5

    def __init__(self, *, model: str | None = None, timeout: float = 30) -> None:
        self._sdk: Any = import_extra("jev", "typesafe_sdk", feature=_FEATURE)
        self._model = model
        self._timeout = timeout

    async def evaluate_by_llm(self, case: Case) -> CaseResult:
        """The probability that the answer meets the criteria, by one call."""
        empty = self.empty_answer(case, "llm")
        if empty is not None:
            return empty
        sdk = self._sdk
        try:
            async with sdk.AsyncTypeSafeClient(
                model=self._model, timeout=self._timeout, retry=sdk.RetryPolicy(max_retries=0)
            ) as client:
                questions = {"matches": _question(sdk, case)}
                reply = await client.system_one(state=case_fields(sendable(case)), questions=questions)
            answer = reply.nouls["matches"]
        except sdk.TypeSafeAPIError as error:
            raise _failure(sdk, error) from error
        except sdk.TypeSafeAPIConnectionError as error:
            raise EvaluationError(f"Jev cannot be reached: {error}") from error
        except (sdk.TypeSafeError, KeyError) as error:
            raise EvaluationError(f"Jev cannot be asked: {error}", retryable=False) from error
        return self.result(
            case,
            metric="noul",
            score=min(max(float(answer.noul), 0.0), 1.0),
            mode="llm",
            reason=f"probability {answer.noul:.3f} that it meets the criteria",
            metadata={
                "model": reply.model,
                "input_tokens": reply.usage.input_tokens,
                "output_tokens": reply.usage.output_tokens,
            },
        )


def _question(sdk: Any, case: Case) -> Any:
    outcomes = {"true": "the actual answer meets the criteria", "false": "it does not"}
    return sdk.Noul(instructions=case.criteria or CRITERIA, criteria=outcomes)


def _failure(sdk: Any, error: Any) -> EvaluationError:
    if isinstance(error, sdk.TypeSafeAPIResponseValidationError):
        return EvaluationError(f"Jev's answer cannot be read: {error}")
    wait = getattr(error, "retry_after_ms", None)
    retryable = error.status in (408, 425, 429) or error.status >= 500
    return EvaluationError(
        f"Jev answers {error}", retryable=retryable, retry_after=None if wait is None else wait / 1000
    )
