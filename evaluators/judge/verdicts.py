"""From a judge's answer to rows: read by schema, every answer checked before any of them counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rejudge.errors import EvaluationError
from rejudge.evaluators.json_answers import first_object
from rejudge.evaluators.judge.questions import Choice, Question, Score, YesNo
from rejudge.evaluators.rows import shown


def read_answers(text: str, questions: Mapping[str, Question]) -> dict[str, dict[str, Any]]:
    """The fields of a row for each question.

    Raises:
        EvaluationError: Retryable, where the answer is no JSON object, lacks a question or breaks its form.
    """
    try:
        answers = first_object(text)
    except ValueError as error:
        raise EvaluationError(f"the judge's answer cannot be read: {error}") from error
    return {name: _row(name, question, answers.get(name)) for name, question in questions.items()}


def _row(name: str, question: Question, answer: object) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise EvaluationError(f"the judge's answer lacks question {name!r}")
    reason = shown(answer.get("reason") or "no reason given", 2000)
    if isinstance(question, YesNo):
        return _yes_no(question, _share(name, answer, "probability_yes"), reason)
    if isinstance(question, Choice):
        return _choice(name, question, answer, reason)
    return _score(name, question, answer, reason)


def _yes_no(question: YesNo, probability: float, reason: str) -> dict[str, Any]:
    answer = "yes" if probability >= 0.5 else "no"
    opposite = round(1 - question.decisive, 9)  # 1 - 0.8 is a little less than 0.2
    decided = probability >= question.decisive or probability <= opposite
    words = f"{answer}, with probability {probability:g} of yes"
    if not decided:
        words += f": no verdict, which takes {question.decisive:g} or {opposite:g}"
    return {
        "score": answer == "yes",
        "passed": (answer == question.pass_when) if decided else None,
        "direction": "higher" if question.pass_when == "yes" else "lower",
        "explanation": f"{words}. {reason}",
        "facts": {"probability_yes": probability, "decisive": question.decisive},
    }


def _choice(name: str, question: Choice, answer: Mapping[str, Any], reason: str) -> dict[str, Any]:
    label = answer.get("label")
    if not isinstance(label, str) or label not in question.labels:
        raise EvaluationError(f"the judge's answer to {name!r} is {shown(label, 60)!r}, none of the labels")
    confidence = _share(name, answer, "confidence")
    return {
        "score": confidence,
        "value": label,
        "passed": label in question.pass_when if question.pass_when else None,
        "explanation": f"{label}, with confidence {confidence:g}. {reason}",
        "facts": {"confidence": confidence},
    }


def _score(name: str, question: Score, answer: Mapping[str, Any], reason: str) -> dict[str, Any]:
    level = _index(answer.get("level"))
    if level is None or level >= len(question.levels):
        given = shown(answer.get("level"), 60)
        raise EvaluationError(f"the judge's answer to {name!r} is {given!r}, none of the levels")
    best = len(question.levels) - 1
    return {
        "score": float(level),
        "min_score": 0,
        "max_score": best,
        "passed": None if question.pass_from is None else level >= question.pass_from,
        "direction": "higher",
        "explanation": f"level {level} of {best}: {question.levels[level]}. {reason}",
        "facts": {"level": level},
    }


def _index(value: object) -> int | None:
    """A whole number from 0 on; models like to write 2.0 for 2."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return int(value) if value >= 0 and value == int(value) else None


def _share(name: str, answer: Mapping[str, Any], key: str) -> float:
    value = answer.get(key)
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or not 0 <= value <= 1
    ):
        raise EvaluationError(f"the judge's {key} for {name!r} is {shown(value, 60)!r}, no number from 0 to 1")
    return float(value)
