"""Typed questions, out of a TOML file under version control or out of the same as JSON."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from rejudge.models.evaluation import check_name

FieldName: TypeAlias = Literal["request", "tool_calls", "answer", "system_prompt", "messages"]
Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000)]


class _Question(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: Text
    """The question, as the judge reads it."""
    fields: tuple[FieldName, ...] = ()
    """What of the session it is about; empty: whatever is sent."""


class YesNo(_Question):
    """Yes or no, with a probability."""

    type: Literal["yes_no"]
    pass_when: Literal["yes", "no"] = "yes"
    """The answer that passes."""
    decisive: Annotated[float, Field(gt=0.5, le=1)] = 0.7
    """From which probability on an answer decides; between this and its opposite there is no verdict."""


class Choice(_Question):
    """One of several labels."""

    type: Literal["choice"]
    labels: Annotated[dict[str, str], Field(min_length=2)]
    """Label → when it applies."""
    pass_when: tuple[str, ...] = ()
    """The labels that pass; empty: none is a verdict."""

    @model_validator(mode="after")
    def _passing_labels_exist(self) -> Self:
        unknown = [label for label in self.pass_when if label not in self.labels]
        if unknown:
            raise ValueError(f"pass_when names {unknown[0]!r}, which is none of the labels {', '.join(self.labels)}")
        return self


class Score(_Question):
    """One of several levels, from worst to best."""

    type: Literal["score"]
    levels: Annotated[tuple[Text, ...], Field(min_length=2)]
    """When each applies; the score counts from 0."""
    pass_from: int | None = None
    """The lowest level that passes; None: none is a verdict."""

    @model_validator(mode="after")
    def _passing_level_exists(self) -> Self:
        if self.pass_from is not None and not 0 < self.pass_from < len(self.levels):
            raise ValueError(f"pass_from is {self.pass_from}; use 1 to {len(self.levels) - 1}")
        return self


Question: TypeAlias = Annotated[YesNo | Choice | Score, Field(discriminator="type")]


class QuestionFile(BaseModel):
    """Everything a judge is asked in one call."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str = ""
    """What a judge should know of the agent."""
    questions: Annotated[dict[str, Question], Field(min_length=1, max_length=50)]
    """Question by the name that its row will have."""

    @model_validator(mode="after")
    def _names_can_be_row_names(self) -> Self:
        for name in self.questions:
            check_name(name, kind="question")
        return self


def parse_questions(content: Mapping[str, Any]) -> QuestionFile:
    """The questions in what a file holds, or in the questions alone.

    Raises:
        ValueError: With every place that is wrong.
    """
    alone = content and all(isinstance(one, Mapping) and "type" in one for one in content.values())
    try:
        return QuestionFile.model_validate({"questions": dict(content)} if alone else dict(content))
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in problem['loc']) or 'questions'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)
        ]
        raise ValueError("; ".join(problems)) from error


def read_questions(path: str) -> dict[str, Any]:
    """What a question file holds, not yet checked.

    Raises:
        ValueError: Where it cannot be read or is no TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"questions_file {path!r} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ValueError(f"questions_file {path!r} is no TOML: {error}") from error
