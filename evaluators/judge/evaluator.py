"""``rejudge/judge``: typed questions to a model, all of them in one call per session."""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, JsonValue

from rejudge.errors import MissingInput
from rejudge.evaluators import endpoint
from rejudge.evaluators.chat import Answer, ask
from rejudge.evaluators.judge.prompt import messages_for, schema_for
from rejudge.evaluators.judge.questions import FieldName, Question, QuestionFile, parse_questions, read_questions
from rejudge.evaluators.judge.verdicts import read_answers
from rejudge.evaluators.judge.view import FIELDS, Shown, View, sent_fields
from rejudge.evaluators.judge.view import shown as shown_fields
from rejudge.evaluators.money import amount_text
from rejudge.evaluators.rows import evidence_of, unscored
from rejudge.models import EvaluationResult, SessionView, digest_of

MODE: Final = "slow"
PROVIDER: Final = endpoint.PROVIDER
CONNECTION_SCHEMA: Final = endpoint.CONNECTION_SCHEMA

Include: TypeAlias = Annotated[list[FieldName], Field(min_length=1)]


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where the questions can be asked about what is sent, before any money is spent.

    Raises:
        ValueError: No questions or two sources of them, a mistake in them, or a question about a field that is not
            sent.
    """
    questions = _questions(params.get("questions"), params.get("questions_file"))
    view: View = params.get("view") or "outcome"
    include = params.get("include")
    outside = [name for name in include or () if name not in FIELDS[view]]
    if outside:
        raise ValueError(
            f"include names {outside[0]!r}, which view {view!r} does not have: {', '.join(FIELDS[view])}"
        )
    sent = sent_fields(view, include)
    for name, question in questions.questions.items():
        unsent = [field for field in question.fields if field not in sent]
        if unsent:
            raise ValueError(
                f"question {name!r} is about {unsent[0]!r}, which is not sent; sent is {', '.join(sent)}"
            )


def pin_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params with the content of a question file in place of its path, so that they say what was asked."""
    path = params.get("questions_file")
    if path is None or params.get("questions") is not None:
        return dict(params)
    return {name: value for name, value in params.items() if name != "questions_file"} | {
        "questions": read_questions(str(path))
    }


async def evaluate(
    session: SessionView,
    *,
    questions: dict[str, JsonValue] | None = None,
    questions_file: str | None = None,
    view: View = "outcome",
    include: Include | None = None,
    model: str | None = None,
    max_characters: Annotated[int, Field(ge=500)] = 60_000,
    timeout: Annotated[float, Field(gt=0, le=280)] = 60,
) -> list[EvaluationResult]:
    """One row for each question.

    Args:
        session: The session.
        questions: What a question file holds, ``{"about": …, "questions": {name: {"type": …}}}``, or the questions
            alone.
        questions_file: Path of a TOML file that holds it instead.
        view: ``outcome``: request, tool calls, answer; ``full``: system prompt and model messages too.
        include: The fields of the view that are sent; all where it is not set.
        model: The judging model instead of the connection's.
        max_characters: How much of the session is sent at most; longer fields lose their middle.
        timeout: Seconds for the call.

    Raises:
        MissingInput: Nothing that a question is about was recorded.
        EvaluationError: The model could not be asked, or its answer cannot be read.
    """
    file = _questions(questions, questions_file)
    seen = shown_fields(session, sent_fields(view, include), room=max_characters)
    asked = {name: question for name, question in file.questions.items() if _can_be_asked(question, seen)}
    if not asked:
        raise MissingInput("nothing of what the questions are about was recorded")
    messages, schema = messages_for(asked, seen, about=file.about), schema_for(asked)
    where = endpoint.endpoint_from(os.environ, model=model)
    answer = await ask(where, messages, schema=schema, timeout=timeout)
    evidence = evidence_of(
        session,
        (),
        prompt_sha256=digest_of({"messages": messages, "schema": schema}),
        questions_sha256=digest_of(file.model_dump(mode="json")),
        requested_model=where.model,
        fields=list(seen.fields),
        cut=list(seen.cut),
        call={
            "questions": len(asked),
            "input_tokens": answer.input_tokens,
            "output_tokens": answer.output_tokens,
            "cost": None if answer.cost is None else amount_text(answer.cost),
        },
    )
    answers = read_answers(answer.text, asked)
    shares = iter(_shares(answer, len(asked)))
    return [
        _row(name, answers[name], evidence, next(shares)) if name in answers else _not_asked(session, name, question)
        for name, question in file.questions.items()
    ]


def _questions(content: Mapping[str, Any] | None, path: str | None) -> QuestionFile:
    if (content is None) == (path is None):
        raise ValueError("set either questions (what a question file holds) or questions_file (its path)")
    return parse_questions(content if content is not None else read_questions(str(path)))


def _can_be_asked(question: Question, seen: Shown) -> bool:
    return bool(seen.fields) and all(field in seen.fields for field in question.fields)


def _row(name: str, fields: dict[str, Any], evidence: dict[str, Any], share: dict[str, Any]) -> EvaluationResult:
    own = {field: value for field, value in fields.items() if field != "facts"}
    return EvaluationResult(name=name, evidence=evidence | fields["facts"], **own, **share)


def _not_asked(session: SessionView, name: str, question: Question) -> EvaluationResult:
    why = f"not asked: the session did not record all of {', '.join(question.fields)}"
    return unscored(name, why, evidence_of(session))


def _shares(answer: Answer, rows: int) -> list[dict[str, Any]]:
    """What each row says it took, so that the rows together say what the call took."""
    return [
        {
            "model": answer.model,
            "input_tokens": _part(answer.input_tokens, rows, first=index == 0),
            "output_tokens": _part(answer.output_tokens, rows, first=index == 0),
            "cost": _part_of_cost(answer.cost, rows, first=index == 0),
        }
        for index in range(rows)
    ]


def _part(count: int | None, rows: int, *, first: bool) -> int | None:
    if count is None:
        return None
    return count // rows + (count % rows if first else 0)


def _part_of_cost(cost: Decimal | None, rows: int, *, first: bool) -> Decimal | None:
    if cost is None:
        return None
    part = (cost / rows).quantize(Decimal("1e-12"), rounding=ROUND_DOWN)
    return cost - part * (rows - 1) if first else part
