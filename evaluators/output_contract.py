"""``rejudge/output-contract``: the final answer against what was agreed about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, JsonValue

from rejudge.evaluators.pointers import Absent, check_pointers, resolve, resolves
from rejudge.evaluators.reading import canonical_or_none, is_terminal
from rejudge.evaluators.rows import evidence_of, figure, listed, plural
from rejudge.models import EvaluationResult, SessionView

JsonType: TypeAlias = Literal["array", "boolean", "integer", "null", "number", "object", "string"]
Paths: TypeAlias = Annotated[list[str], Field(min_length=1)]
Types: TypeAlias = Annotated[dict[str, JsonType], Field(min_length=1)]

_MATCHES: Final[Mapping[JsonType, Callable[[object], bool]]] = {
    "array": lambda value: isinstance(value, list),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "string": lambda value: isinstance(value, str),
}


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where the params can be run.

    Raises:
        ValueError: No rule at all, an expected null, a bad pointer or an unknown type.
    """
    given = {name: value for name, value in params.items() if value is not None}
    if not given.keys() & {"expected", "required_paths", "type_requirements"}:
        raise ValueError(
            "set at least one of expected, required_paths and type_requirements; an expected null can never "
            "be met, because a session whose output is null has none"
        )
    check_pointers("required_paths", given.get("required_paths", ()))
    requirements = given.get("type_requirements", {})
    check_pointers("type_requirements", requirements)
    unknown = [name for name in requirements.values() if name not in _MATCHES]
    if unknown:
        raise ValueError(f"type_requirements: {unknown[0]!r} is no JSON type; use one of {', '.join(_MATCHES)}")
    if "expected" in given and canonical_or_none(given["expected"]) is None:
        raise ValueError("expected holds what JSON cannot (NaN or an infinity)")


def evaluate(
    session: SessionView,
    *,
    expected: JsonValue = None,
    required_paths: Paths | None = None,
    type_requirements: Types | None = None,
) -> list[EvaluationResult]:
    """One row for the output being there, and one for each rule that is set.

    Args:
        session: The session.
        expected: The exact output, compared as canonical JSON (so 1 is not 1.0).
        required_paths: JSON pointers that must lead somewhere in the output.
        type_requirements: JSON pointer → JSON type found there; a number may be an integer, a bool is none.
    """
    rows = [_availability(session)]
    if expected is not None:
        rows.append(_exact_output(session, expected))
    if required_paths is not None:
        output = session.session.outputs
        missing = [path for path in dict.fromkeys(required_paths) if not resolves(output, path)]
        rows.append(_rule_row(session, "required_paths", missing, len(set(required_paths)), "do not resolve"))
    if type_requirements is not None:
        wrong = [path for path, kind in type_requirements.items() if not _has_type(session, path, kind)]
        words = "are absent or of another type"
        rows.append(_rule_row(session, "type_requirements", wrong, len(type_requirements), words))
    return rows


def _availability(view: SessionView) -> EvaluationResult:
    there = view.session.outputs is not None
    explanation = f"the session has {'an' if there else 'no'} output"
    return figure("output_availability", int(there), explanation, evidence_of(view), maximum=1)


def _exact_output(view: SessionView, expected: JsonValue) -> EvaluationResult:
    output = view.session.outputs
    actual, wanted = canonical_or_none(output), canonical_or_none(expected)
    equal = output is not None and actual == wanted
    explanation = f"the output {'equals' if equal else 'differs from'} the expected one as canonical JSON"
    if output is None:
        explanation = "no output to compare"
    elif actual is None:
        explanation = "the output is not JSON (NaN or an infinity in it), so it equals nothing"
    evidence = evidence_of(view, bytes=len(actual or b""), expected_bytes=len(wanted or b""))
    passed = _verdict(view, violated=not equal)
    return figure("exact_output", int(equal), explanation, evidence, maximum=1, passed=passed)


def _rule_row(view: SessionView, name: str, broken: list[str], rules: int, words: str) -> EvaluationResult:
    explanation = f"{len(broken)} of {plural(rules, 'pointer')} {words}"
    if broken:
        explanation += f": {listed(path or '(the whole)' for path in broken)}"
    if view.session.outputs is None:
        explanation += "; the session has no output"
    evidence = evidence_of(view, pointers=broken[:50], rules=rules)
    passed = _verdict(view, violated=bool(broken))
    return figure(name, len(broken), explanation, evidence, maximum=rules, lower=True, passed=passed)


def _verdict(view: SessionView, *, violated: bool) -> bool | None:
    if view.session.outputs is None:
        return None
    if violated:
        return False
    return True if is_terminal(view) else None


def _has_type(view: SessionView, pointer: str, kind: JsonType) -> bool:
    try:
        return view.session.outputs is not None and _MATCHES[kind](resolve(view.session.outputs, pointer))
    except Absent:
        return False
