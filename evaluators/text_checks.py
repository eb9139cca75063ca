"""``rejudge/text-checks``: what a recorded text must, must not and may say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, JsonValue

from rejudge.errors import MissingInput
from rejudge.evaluators.json_schemas import check_schema, violations
from rejudge.evaluators.pointers import Absent, check_pointers, resolve
from rejudge.evaluators.reading import is_terminal
from rejudge.evaluators.rows import evidence_of, figure, listed, plural, shown
from rejudge.models import EvaluationResult, SessionView

Texts: TypeAlias = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
Length: TypeAlias = Annotated[int, Field(ge=0)]
Source: TypeAlias = Literal["outputs", "inputs", "metadata"]

_RULES: Final = ("contains", "not_contains", "regex", "json_schema", "min_length", "max_length")


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where the rules can be run.

    Raises:
        ValueError: No rule, a bad pointer, pattern or schema, or lengths that exclude each other.
    """
    if all(params.get(name) is None for name in _RULES):
        raise ValueError(f"set at least one of {', '.join(_RULES)}")
    check_pointers("pointer", [params.get("pointer", "")])
    for pattern in params.get("regex") or ():
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"regex: {pattern!r} is no regular expression: {error}") from error
    if params.get("json_schema") is not None:
        check_schema("json_schema", params["json_schema"])
    shortest, longest = params.get("min_length"), params.get("max_length")
    if shortest is not None and longest is not None and shortest > longest:
        raise ValueError(f"min_length {shortest} is above max_length {longest}")


def evaluate(
    session: SessionView,
    *,
    source: Source = "outputs",
    pointer: str = "",
    contains: Texts | None = None,
    not_contains: Texts | None = None,
    regex: Texts | None = None,
    json_schema: dict[str, JsonValue] | None = None,
    parse_json: bool = False,
    min_length: Length | None = None,
    max_length: Length | None = None,
) -> list[EvaluationResult]:
    """One row for each rule that is set, on one place of the session; what is no text is looked at as JSON text.

    Args:
        session: The session.
        source: Where to look: what the session gave, what it was given, or what the trace said of it.
        pointer: JSON pointer to the place in it.
        contains: Texts that must be there.
        not_contains: Texts that must not be there.
        regex: Regular expressions that must be found somewhere (Python's; ``(?i)`` ignores case).
        json_schema: JSON Schema that the value must keep.
        parse_json: Whether a text is read as JSON before the schema looks at it.
        min_length: Characters at least.
        max_length: Characters at most.

    Raises:
        MissingInput: Where there is nothing at that place.
    """
    value = _value(session, source, pointer)
    text = value if isinstance(value, str) else _as_text(value)
    rows: list[EvaluationResult] = []
    if contains is not None:
        missing = [wanted for wanted in dict.fromkeys(contains) if wanted not in text]
        rows.append(_row(session, "contains", missing, len(set(contains)), "not there"))
    if not_contains is not None:
        found = [unwanted for unwanted in dict.fromkeys(not_contains) if unwanted in text]
        rows.append(_row(session, "not_contains", found, len(set(not_contains)), "there"))
    if regex is not None:
        unmatched = [pattern for pattern in dict.fromkeys(regex) if not re.search(pattern, text)]
        rows.append(_row(session, "regex", unmatched, len(set(regex)), "not found"))
    if json_schema is not None:
        rows.append(_schema_row(session, json_schema, value, parse_json=parse_json))
    if min_length is not None or max_length is not None:
        rows.append(_length_row(session, len(text), min_length or 0, max_length))
    return rows


def _value(view: SessionView, source: Source, pointer: str) -> object:
    whole: object = getattr(view.session, source)
    try:
        value = resolve(whole, pointer)
    except Absent:
        value = None
    if value is None:
        raise MissingInput(f"the session has nothing at {pointer or '(the whole)'} of its {source}")
    return value


def _as_text(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise MissingInput(f"the value is not JSON and cannot be read as text: {error}") from error


def _row(view: SessionView, name: str, broken: list[str], rules: int, words: str) -> EvaluationResult:
    explanation = f"{len(broken)} of {plural(rules, 'text')} {words}"
    if broken:
        explanation += f": {listed(broken)}"
    evidence = evidence_of(view, (), broken=[shown(text) for text in broken[:50]])
    passed = _verdict(view, broken)
    return figure(name, len(broken), explanation, evidence, maximum=rules, lower=True, passed=passed)


def _schema_row(
    view: SessionView, schema: dict[str, JsonValue], value: object, *, parse_json: bool
) -> EvaluationResult:
    broken: list[str]
    if parse_json and isinstance(value, str):
        try:
            broken = violations(schema, json.loads(value))
        except (ValueError, RecursionError):
            broken = ["$ is no JSON"]
    else:
        broken = violations(schema, value)
    explanation = f"{plural(len(broken), 'violation')} of the schema"
    if broken:
        explanation += f": {listed(broken)}"
    evidence = evidence_of(view, (), violations=[shown(each) for each in broken[:50]])
    passed = _verdict(view, broken)
    return figure("json_schema", len(broken), explanation, evidence, lower=True, passed=passed)


def _length_row(view: SessionView, length: int, shortest: int, longest: int | None) -> EvaluationResult:
    within = length >= shortest and (longest is None or length <= longest)
    bounds = f"{shortest} to {longest}" if longest is not None else f"at least {shortest}"
    explanation = f"{plural(length, 'character')}, {'within' if within else 'outside'} {bounds}"
    evidence = evidence_of(view, (), min_length=shortest, max_length=longest)
    return figure("length", length, explanation, evidence, passed=_verdict(view, () if within else ("length",)))


def _verdict(view: SessionView, broken: Iterable[str]) -> bool | None:
    if any(True for _ in broken):
        return False
    return True if is_terminal(view) else None
