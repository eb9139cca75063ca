"""Parameters: the schema derived from a signature, and what is refused before anything runs."""

from __future__ import annotations

import enum
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from rejudge.errors import UsageError
from rejudge.models.session import SessionView
from rejudge.scoring.outcome import Assignment
from rejudge.scoring.params import checked_params, params_digest
from rejudge.scoring.signature import parameters_of
from rejudge.scoring.version import EvaluatorSpec, FingerprintParts
from tests.scoring.bench import Bench


class Mode(enum.Enum):
    strict = "strict"
    loose = "loose"


class Rule(BaseModel):
    tool: str
    maximum: int = Field(3, ge=0)


def none(session: SessionView) -> bool: ...
def plain(
    session: SessionView, *, minimum: int = 1, word: str = "sorry", ratio: float = 0.5, loud: bool = False
) -> bool: ...
def required(session: SessionView, *, expected: str) -> bool: ...
def untyped(session, *, anything, other=3): ...  # type: ignore[no-untyped-def]
def constrained(session: SessionView, *, share: Annotated[float, Field(ge=0, le=1)] = 0.5) -> bool: ...
def fielded(session: SessionView, *, limit: int = Field(20, ge=1, le=100, description="how many")) -> bool: ...
def choices(session: SessionView, *, mode: Mode = Mode.strict, kind: Literal["a", "b"] = "a") -> bool: ...
def optional(session: SessionView, *, names: list[str] | None = None) -> bool: ...
def nested(session: SessionView, *, rule: Rule) -> bool: ...
def free(session: SessionView, **params: Any) -> bool: ...
def free_numbers(session: SessionView, *, named: int = 1, **params: float) -> bool: ...
def odd_names(
    session: SessionView, *, schema: int = 1, model_config: int = 2, _private: int = 3, json: str = ""
) -> bool: ...
def positional(session: SessionView, minimum: int = 1) -> bool: ...
def starred(*sessions: SessionView, strict: bool = True) -> bool: ...


SCHEMAS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (none, {"properties": {}, "additionalProperties": False}),
    (
        plain,
        {
            "properties": {
                "minimum": {"type": "integer", "default": 1},
                "word": {"type": "string", "default": "sorry"},
                "ratio": {"type": "number", "default": 0.5},
                "loud": {"type": "boolean", "default": False},
            },
            "additionalProperties": False,
        },
    ),
    (required, {"properties": {"expected": {"type": "string"}}, "required": ["expected"]}),
    (untyped, {"properties": {"anything": {}, "other": {"default": 3}}, "required": ["anything"]}),
    (constrained, {"properties": {"share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5}}}),
    (
        fielded,
        {
            "properties": {
                "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "how many"}
            }
        },
    ),
    (
        optional,
        {
            "properties": {
                "names": {
                    "anyOf": [{"items": {"type": "string"}, "type": "array"}, {"type": "null"}],
                    "default": None,
                }
            }
        },
    ),
    (nested, {"required": ["rule"]}),
    (free, {"properties": {}, "additionalProperties": True}),
    (free_numbers, {"additionalProperties": True}),
    (
        odd_names,
        {
            "properties": {
                "schema": {"type": "integer", "default": 1},
                "model_config": {"type": "integer", "default": 2},
                "_private": {"type": "integer", "default": 3},
                "json": {"type": "string", "default": ""},
            }
        },
    ),
    (positional, {"properties": {"minimum": {"type": "integer", "default": 1}}}),
    (starred, {"properties": {"strict": {"type": "boolean", "default": True}}}),
]


@pytest.mark.parametrize(("function", "expected"), SCHEMAS, ids=[function.__name__ for function, _ in SCHEMAS])
def test_schema_of_a_signature(function: Callable[..., Any], expected: dict[str, Any]) -> None:
    schema = parameters_of(function, where="check.py:1").schema()
    assert {name: schema.get(name) for name in expected} == expected
    assert schema["type"] == "object"


def test_values_have_the_annotated_types() -> None:
    def typed(
        session: SessionView, *, rule: Rule, mode: Mode, since: date, price: Decimal, names: set[str]
    ) -> bool: ...

    given = {"rule": {"tool": "refund"}, "mode": "loose", "since": "2026-01-02", "price": "1.50", "names": ["a", "a"]}
    typed.__annotations__ |= {"rule": Rule, "mode": Mode, "since": date, "price": Decimal, "names": set[str]}
    values = parameters_of(typed, where="check.py:1").values(given)
    assert values["rule"] == Rule(tool="refund", maximum=3)
    assert (values["mode"], values["since"]) == (Mode.loose, date(2026, 1, 2))
    assert (values["price"], values["names"]) == (Decimal("1.50"), {"a"})


def _takes_nothing() -> bool: ...
def _takes_only_names(*, session: SessionView) -> bool: ...
def _takes_by_position(session: SessionView, minimum: int, /) -> bool: ...
def _takes_what_json_has_not(session: SessionView, *, model: Bench) -> bool: ...
def _takes_the_unknown(session: SessionView, *, what: Missing) -> bool: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_takes_nothing, "does not take a session"),
        (_takes_only_names, "does not take a session"),
        (_takes_by_position, "'minimum' cannot be given by name"),
        (_takes_what_json_has_not, "JSON cannot hold"),
        (_takes_the_unknown, "names something that is not there"),
    ],
    ids=["nothing", "only names", "by position", "no json", "unknown"],
)
def test_a_signature_that_cannot_work_is_refused(function: Callable[..., Any], why: str) -> None:
    with pytest.raises(UsageError, match=why) as refused:
        parameters_of(function, where="check.py:9")
    assert refused.value.message.startswith("check.py:9")


def _spec(function: Callable[..., Any]) -> EvaluatorSpec:
    parts = FingerprintParts(contract="1", attribute="evaluate", code={}, parameters="", dependencies={})
    schema = parameters_of(function, where="check.py:1").schema()
    return EvaluatorSpec(
        name="check", number=3, fingerprint="f", parts=parts, kind="script", entrypoint="check.py:evaluate",
        parameter_schema=schema,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "params", "message", "mend"),
    [
        (
            plain,
            {"minimun": 2},
            "check@3 has no parameter 'minimun'; did you mean 'minimum'?",
            "it takes minimum (integer) = 1",
        ),
        (plain, {"zzz": 2}, "check@3 has no parameter 'zzz'", "word (string)"),
        (none, {"x": 1}, "check@3 has no parameter 'x'", "takes no parameters"),
        (plain, {"minimum": "two"}, "parameter minimum: 'two' is not of type 'integer'", "minimum (integer)"),
        (plain, {"minimum": True}, "parameter minimum: True is not of type 'integer'", ""),
        (plain, {"minimum": 1.5}, "parameter minimum: 1.5 is not of type 'integer'", ""),
        (required, {}, "'expected' is a required property", "expected (string) (required)"),
        (constrained, {"share": 1.5}, "parameter share: 1.5 is greater than the maximum of 1", ""),
        (choices, {"kind": "c"}, "parameter kind: 'c' is not one of ['a', 'b']", "kind"),
        (
            nested,
            {"rule": {"tool": "x", "maximum": -1}},
            "parameter rule.maximum: -1 is less than the minimum of 0",
            "",
        ),
        (plain, {"ratio": float("nan")}, "are no JSON", ""),
    ],
)
def test_bad_params_are_refused(
    function: Callable[..., Any], params: dict[str, Any], message: str, mend: str
) -> None:
    with pytest.raises(UsageError) as refused:
        checked_params(_spec(function), params)
    assert message in refused.value.message
    assert mend in (refused.value.mend or "")


@given(st.permutations([("word", "bye"), ("minimum", 2), ("loud", True)]))
def test_canonical_params_do_not_depend_on_order(pairs: list[tuple[str, Any]]) -> None:
    canonical = checked_params(_spec(plain), dict(pairs))
    assert list(canonical) == ["loud", "minimum", "word"]
    assert canonical == dict(pairs)


def test_params_digest_takes_defaults_for_what_is_not_given() -> None:
    spec = _spec(plain)
    assert params_digest(spec, {}) == params_digest(spec, {"minimum": 1})
    assert params_digest(spec, {}) != params_digest(spec, {"minimum": 2})


CROSS = """
def check_params({signature}):
    if {low} > {high}:
        raise ValueError("low is above high")

def evaluate(session, *, low: int = 0, high: int = 10):
    return low
"""


@pytest.mark.parametrize(
    ("signature", "low", "high"),
    [("low=0, high=10", "low", "high"), ("params", "params.get('low', 0)", "params.get('high', 10)")],
    ids=["by name", "as a mapping"],
)
def test_rules_between_parameters_are_the_evaluators_own(bench: Bench, signature: str, low: str, high: str) -> None:
    spec = bench.register(CROSS.format(signature=signature, low=low, high=high))
    bench.pool.check([Assignment(spec, {"low": 3})])
    with pytest.raises(UsageError, match="check@1: low is above high"):
        bench.pool.check([Assignment(spec, {"low": 30})])


def test_one_version_runs_twice_with_different_params_and_keeps_them_apart(bench: Bench) -> None:
    source = """
    def evaluate(session, *, words: list[str] = ["a"]):
        words.append("x")
        return ",".join(words)
    """
    spec = bench.register(source)
    jobs_of = bench.score(Assignment(spec, {"words": ["b"]}), inputs=["1", "2"])
    plain = bench.score(Assignment(spec), inputs=["1"])
    assert [outcome.results[0]["value"] for outcome in jobs_of.values()] == ["b,x", "b,x"]
    assert plain["check:1"].results[0]["value"] == "a,x"
