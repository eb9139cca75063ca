"""The default provider's judge: one call that rates an answer against what was expected."""

from __future__ import annotations

import json
from typing import Any, Final

from rejudge.errors import EvaluationError
from rejudge.evaluators.chat import ask
from rejudge.evaluators.endpoint import endpoint_from
from rejudge.evaluators.json_answers import first_object
from rejudge.evaluators.judge.fencing import RULES, SECRETS, fence
from rejudge.evaluators.providers.case import Case, CaseResult
from rejudge.evaluators.providers.provider import Provider
from rejudge.evaluators.sensitive import redacted
from rejudge.models import digest_of

CRITERIA: Final = (
    "Does the actual answer say what the expected answer says? Other words, order and format do not matter; a "
    "missing, added or changed fact does."
)
_SYSTEM: Final = (
    "You compare an actual answer with an expected answer by the criteria you are given. {rules}\n\n"
    "Criteria: {criteria}\n\n"
    'Answer with one JSON object and nothing else: {{"reason": "<one or two sentences>", "score": <0 to 1>}}, '
    "where 1 meets the criteria fully and 0 not at all."
)
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number"}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}


async def judge_case(provider: Provider, case: Case, *, model: str | None, timeout: float) -> CaseResult:
    """The case's rating by the connection's model.

    Raises:
        EvaluationError: No connection, a failed call, or an answer that is no rating.
    """
    messages = case_messages(sendable(case))
    answer = await ask(endpoint_from(model=model), messages, schema=_SCHEMA, timeout=timeout)
    score, reason = _rating(answer.text)
    return provider.result(
        case,
        metric="judged_match",
        score=score,
        mode="llm",
        reason=reason,
        cost=answer.cost,
        metadata={
            "model": answer.model,
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            "prompt_sha256": digest_of(messages),
        },
    )


def case_messages(case: Case) -> list[dict[str, str]]:
    """What the judge is sent: the rules, and the case as fenced data."""
    system = _SYSTEM.format(rules=RULES, criteria=case.criteria or CRITERIA)
    return [{"role": "system", "content": system}, {"role": "user", "content": fence(case_fields(case))}]


def sendable(case: Case) -> Case:
    """The case as it may leave the house: every secret in it replaced by its kind."""

    def clean(text: str) -> str:
        return redacted(text, SECRETS)

    return case.model_copy(
        update={
            "actual": clean(case.actual),
            "expected": clean(case.expected),
            "user_input": None if case.user_input is None else clean(case.user_input),
            "context": tuple(clean(text) for text in case.context),
        }
    )


def case_fields(case: Case) -> dict[str, str]:
    """The texts of a case by name, those that are there."""
    fields = {"actual_answer": case.actual, "expected_answer": case.expected}
    if case.user_input:
        fields = {"request": case.user_input, **fields}
    if case.context:
        fields["context"] = "\n\n".join(case.context)
    return fields


def _rating(text: str) -> tuple[float, str]:
    try:
        value = first_object(text)
    except ValueError as error:
        raise EvaluationError(f"the judge's answer cannot be read: {error}") from error
    score = value.get("score")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
        raise EvaluationError(f"the judge's score is {json.dumps(score)[:50]}, no number from 0 to 1")
    return float(score), str(value.get("reason") or "")[:2000]
