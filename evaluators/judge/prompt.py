"""What a judge is sent: rules and questions from us, everything recorded as fenced data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rejudge.evaluators.judge.fencing import RULES, fence
from rejudge.evaluators.judge.questions import Choice, Question, Score, YesNo
from rejudge.evaluators.judge.view import Shown

_FIELDS: Final[Mapping[str, str]] = {
    "request": "what the agent was asked",
    "system_prompt": "the instructions that the agent's model was given",
    "messages": "what the agent's model was told and said",
    "tool_calls": "the tools that were called, one JSON object a line",
    "answer": "the agent's final answer",
}


def messages_for(questions: Mapping[str, Question], seen: Shown, *, about: str) -> list[dict[str, str]]:
    """The two messages of the call."""
    asked = "\n\n".join(_asked(name, question) for name, question in questions.items())
    known = f"\n\nWhat you should know of the agent: {about.strip()}" if about.strip() else ""
    listed = "; ".join(f"{name}: {_FIELDS[name]}" for name in seen.fields)
    system = (
        "You judge one recorded run of an AI agent by answering questions about it. "
        f"{RULES}{known}\n\nThe evidence has these fields: {listed}.\n\n"
        f"Questions:\n\n{asked}\n\n"
        "Answer with one JSON object and nothing else. It has one key for each question, named as the question, "
        "with an object as described there. Give the reason first: one to three sentences that rest on the evidence."
    )
    evidence = fence({str(name): text for name, text in seen.fields.items()})
    user = f"{evidence}\n\nThe evidence ends here. Answer the questions you were given about it."
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


def schema_for(questions: Mapping[str, Question]) -> dict[str, Any]:
    """JSON Schema of the answer."""
    return _object({name: _schema(question) for name, question in questions.items()})


def _asked(name: str, question: Question) -> str:
    about = f" (look at: {', '.join(question.fields)})" if question.fields else ""
    return f"{name}{about}: {question.ask.strip()}\n{_form(question)}"


def _form(question: Question) -> str:
    if isinstance(question, YesNo):
        return 'Answer with {"reason": text, "probability_yes": number from 0 (surely no) to 1 (surely yes)}.'
    if isinstance(question, Choice):
        labels = "\n".join(f"- {label}: {when}" for label, when in question.labels.items())
        return f'Answer with {{"reason": text, "label": one of these, "confidence": number from 0 to 1}}.\n{labels}'
    levels = "\n".join(f"- {index}: {when}" for index, when in enumerate(question.levels))
    return f'Answer with {{"reason": text, "level": the number of one of these}}.\n{levels}'


def _schema(question: Question) -> dict[str, Any]:
    reason: dict[str, Any] = {"reason": {"type": "string"}}
    if isinstance(question, YesNo):
        return _object({**reason, "probability_yes": {"type": "number"}})
    if isinstance(question, Choice):
        label = {"type": "string", "enum": list(question.labels)}
        return _object({**reason, "label": label, "confidence": {"type": "number"}})
    assert isinstance(question, Score)
    return _object({**reason, "level": {"type": "integer", "enum": list(range(len(question.levels)))}})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
