"""``rejudge/answer-match``: the final answer against expected ones, through any provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, JsonValue

from rejudge.errors import MissingInput
from rejudge.evaluators import endpoint
from rejudge.evaluators.answer_text import answer_text
from rejudge.evaluators.pointers import Absent, check_pointers, resolve
from rejudge.evaluators.providers.case import Case, CaseResult, Mode
from rejudge.evaluators.providers.comparing import compare_case
from rejudge.evaluators.providers.resolving import resolve_provider
from rejudge.evaluators.rows import evidence_of, shown
from rejudge.models import EvaluationResult, SessionView

MODE: Final = "slow"
PROVIDER: Final = endpoint.PROVIDER
CONNECTION_SCHEMA: Final[dict[str, Any]] = {**endpoint.CONNECTION_SCHEMA, "required": []}
"""A judging model, needed only where ``mode`` is not ``score``."""

Answers: TypeAlias = Annotated[list[str], Field(min_length=1)]
Share: TypeAlias = Annotated[float, Field(ge=0, le=1)]


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where there is something to compare with and the provider can be had.

    Raises:
        ValueError: Both or neither of ``expected`` and ``reference``, or a reference that is none.
        UsageError: A provider that is not there.
    """
    reference = params.get("reference")
    if (params.get("expected") is None) == (reference is None):
        raise ValueError("set either expected (a list of answers) or reference ('baseline' or a metadata pointer)")
    if reference is not None and reference != "baseline":
        if not reference:
            raise ValueError(
                "reference is empty; write 'baseline' or a pointer into the metadata such as '/expected'"
            )
        check_pointers("reference", [reference])
    resolve_provider(params.get("provider") or "rejudge", params.get("options"))


def required_fields(params: Mapping[str, Any]) -> tuple[str, ...]:
    """What the connection must hold: other providers can have a model that they are configured for themselves."""
    judged = params.get("mode", "score") != "score" and (params.get("provider") or "rejudge") == "rejudge"
    return tuple(endpoint.CONNECTION_SCHEMA["required"]) if judged else ()


async def evaluate(
    session: SessionView,
    *,
    expected: Answers | None = None,
    reference: str | None = None,
    mode: Mode = "score",
    provider: str = "rejudge",
    options: dict[str, JsonValue] | None = None,
    threshold: Share | None = None,
    criteria: str | None = None,
) -> EvaluationResult:
    """How well the final answer matches an expected one, 0 to 1; the first that passes decides.

    Args:
        session: The session.
        expected: Answers that would do, in order.
        reference: Where the expected answer is instead: ``baseline`` for the answer of the session that this one is
            a replay of, or a JSON pointer into this session's metadata, to a text or a list of texts.
        mode: ``score`` offline, ``llm`` by a judge, ``fallback``: the judge only where the score does not pass.
        provider: ``rejudge``, ``deepeval``, ``opik``, ``jev``, or a dotted path to a provider of your own.
        options: Keyword arguments of the provider.
        threshold: From which score on it passes; the provider's own where it is not set.
        criteria: What a judge is to look at.

    Raises:
        MissingInput: No answer recorded, or no expected one.
        EvaluatorSignal: What the provider raises.
    """
    if session.session.outputs is None:
        raise MissingInput("the session has no output to compare")
    alternatives = expected if expected is not None else _referenced(session, reference or "")
    case = Case(
        actual=answer_text(session.session.outputs),
        user_input=answer_text(session.session.inputs) or None,
        threshold=threshold,
        criteria=criteria,
    )
    found = await compare_case(resolve_provider(provider, options), case, alternatives, mode)
    return _row(session, found, len(alternatives))


def _referenced(view: SessionView, reference: str) -> list[str]:
    if reference == "baseline":
        if view.baseline is None:
            raise MissingInput("the session is no replay, so it has no baseline to compare with")
        if view.baseline.outputs is None:
            raise MissingInput("the baseline has no output to compare with")
        return [answer_text(view.baseline.outputs)]
    try:
        value = resolve(view.session.metadata, reference)
    except Absent:
        value = None
    answers = value if isinstance(value, list) else [value]
    texts = [answer_text(answer) for answer in answers if answer is not None]
    if not texts:
        raise MissingInput(f"the session's metadata has no expected answer at {reference}")
    return texts


def _row(view: SessionView, found: CaseResult, alternatives: int) -> EvaluationResult:
    calls = [*found.attempts, found]
    evidence = evidence_of(
        view,
        (),
        alternatives=alternatives,
        attempts=[
            {
                "mode": call.mode,
                "metric": call.metric,
                "score": call.score,
                "threshold": call.threshold,
                "alternative": call.metadata.get("alternative"),
            }
            for call in calls[-50:]
        ],
    )
    spent: dict[str, Any] = {
        "cost": found.total_cost,
        "input_tokens": found.total("input_tokens"),
        "output_tokens": found.total("output_tokens"),
        "model": next((str(call.metadata["model"]) for call in reversed(calls) if call.metadata.get("model")), None),
    }
    reason = f": {shown(found.reason, 1000)}" if found.reason else ""
    if found.score is None:
        return EvaluationResult(
            name="answer_match",
            unscored=f"{found.provider} gave no score{reason}",
            explanation=f"{found.provider} {found.metric} gave no score{reason}",
            evidence=evidence,
            **spent,
        )
    needs = "" if found.threshold is None else f", {found.threshold:g} needed"
    return EvaluationResult(
        name="answer_match",
        score=float(found.score),
        min_score=0,
        max_score=1,
        direction="higher",
        passed=found.passed,
        explanation=f"{found.provider} {found.metric} {found.score:.3f}{needs}{reason}",
        evidence=evidence,
        **spent,
    )
