"""Credentials of evaluators: found before a batch starts, and given to one process alone."""

from __future__ import annotations

import pytest

from rejudge.errors import UsageError
from rejudge.scoring.built_in import built_in_spec
from rejudge.scoring.version import EvaluatorSpec
from rejudge.tasks.connections import ConnectionElsewhere, connection_of, held_variables
from rejudge.tasks.judges import with_needs

SCHEMA = {
    "type": "object",
    "properties": {"base_url": {"type": "string"}, "api_key": {"type": "string", "minLength": 4}},
    "required": ["base_url"],
}


@pytest.fixture
def spec() -> EvaluatorSpec:
    plain = built_in_spec("rejudge/cost", "rejudge.evaluators.cost:evaluate")
    return plain.model_copy(update={"connection_schema": SCHEMA, "provider": "judge"})


def test_without_a_name_the_evaluators_own_variables_count(
    spec: EvaluatorSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJUDGE_JUDGE_BASE_URL", "http://127.0.0.1:1/v1")
    assert connection_of(spec, None, ask_prefect=False) == {"REJUDGE_JUDGE_BASE_URL": "http://127.0.0.1:1/v1"}


def test_a_named_connection_is_read_from_its_variables(spec: EvaluatorSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_CONNECTION_NIGHT_SHIFT_BASE_URL", "http://127.0.0.1:2/v1")
    monkeypatch.setenv("REJUDGE_CONNECTION_NIGHT_SHIFT_API_KEY", "sk-night")
    assert connection_of(spec, "night-shift", ask_prefect=False) == {
        "REJUDGE_JUDGE_BASE_URL": "http://127.0.0.1:2/v1",
        "REJUDGE_JUDGE_API_KEY": "sk-night",
    }


def test_a_missing_field_is_named_by_its_variable(spec: EvaluatorSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJUDGE_JUDGE_BASE_URL", raising=False)
    with pytest.raises(UsageError, match="REJUDGE_JUDGE_BASE_URL is not set"):
        connection_of(spec, None, ask_prefect=False)


def test_a_value_that_does_not_fit_is_refused_and_not_repeated(
    spec: EvaluatorSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REJUDGE_JUDGE_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("REJUDGE_JUDGE_API_KEY", "abc")
    with pytest.raises(UsageError, match="api_key breaks") as refusal:
        connection_of(spec, None, ask_prefect=False)
    assert "abc" not in refusal.value.message


def test_an_unknown_name_is_left_to_prefect(spec: EvaluatorSpec) -> None:
    with pytest.raises(ConnectionElsewhere):
        connection_of(spec, "elsewhere", ask_prefect=False)


def test_an_evaluator_without_a_schema_takes_none(spec: EvaluatorSpec) -> None:
    plain = spec.model_copy(update={"connection_schema": None})
    assert connection_of(plain, None, ask_prefect=False) == {}
    with pytest.raises(UsageError, match="takes no connection"):
        connection_of(plain, "night-shift", ask_prefect=False)


def test_what_holds_a_connection_is_known_for_withholding(spec: EvaluatorSpec) -> None:
    capitals = spec.model_copy(update={"connection_schema": {"properties": {"OPENAI_API_KEY": {}}}})
    assert held_variables(capitals) == ("OPENAI_API_KEY",)


def test_a_connection_is_needed_only_where_the_params_ask_a_model() -> None:
    spec = built_in_spec("rejudge/answer-match", "rejudge.evaluators.answer_match:evaluate")
    assert connection_of(with_needs(spec, {"expected": ["x"]}), None, ask_prefect=False) == {}
    assert connection_of(with_needs(spec, {"mode": "llm", "provider": "opik"}), None, ask_prefect=False) == {}
    for mode in ("llm", "fallback"):
        with pytest.raises(UsageError, match="REJUDGE_JUDGE_BASE_URL, REJUDGE_JUDGE_MODEL is not set"):
            connection_of(with_needs(spec, {"mode": mode}), None, ask_prefect=False)
