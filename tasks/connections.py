"""Credentials of evaluators: kept by Prefect or in the environment, handed to one evaluator's process alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from rejudge import settings
from rejudge.errors import UsageError
from rejudge.scoring.version import EvaluatorSpec

_PREFIX: Final = "REJUDGE_CONNECTION"


class ConnectionElsewhere(Exception):
    """A named connection that the environment does not hold: Prefect has to be asked."""


def connection_of(spec: EvaluatorSpec, name: str | None, *, ask_prefect: bool) -> dict[str, str]:
    """The variables that an evaluator's process is given.

    A field ``api_key`` of a connection for provider ``judge`` arrives as ``REJUDGE_JUDGE_API_KEY``; a field that is
    written in capitals arrives as it is. Without a name the values are those same variables of our own environment.
    With a name they are ``REJUDGE_CONNECTION_<NAME>_<FIELD>``, or the JSON of the Prefect Secret block of that name.

    Args:
        name: Of the connection.
        ask_prefect: Whether Prefect's server may be asked.

    Raises:
        UsageError: Where a field is missing, naming the variable, or the evaluator takes no connection.
        ConnectionElsewhere: Where Prefect would have to be asked and may not.
    """
    schema = spec.connection_schema
    if schema is None:
        if name is not None:
            raise UsageError(f"evaluator {spec.reference} takes no connection", mend="leave --connection out")
        return {}
    fields = tuple(schema.get("properties", {}))
    if name is None:
        values, where = _from_variables(spec, fields), {field: variable_of(spec, field) for field in fields}
    else:
        values, where = _named(name, fields, ask_prefect=ask_prefect)
    _check(spec, schema, values, where)
    return {variable_of(spec, field): str(value) for field, value in values.items()}


def variable_of(spec: EvaluatorSpec, field: str) -> str:
    """The environment variable in which an evaluator finds a field of its connection."""
    return field if field.isupper() else f"REJUDGE_{_word(spec.provider or spec.result_name)}_{_word(field)}"


def held_variables(spec: EvaluatorSpec) -> tuple[str, ...]:
    """Variables that hold this evaluator's connection: no other evaluator's process may see them."""
    return tuple(variable_of(spec, field) for field in (spec.connection_schema or {}).get("properties", {}))


def _from_variables(spec: EvaluatorSpec, fields: tuple[str, ...]) -> dict[str, Any]:
    environment = settings.environment_with({})
    found = {field: environment.get(variable_of(spec, field), "") for field in fields}
    return {field: value for field, value in found.items() if value}


def _named(name: str, fields: tuple[str, ...], *, ask_prefect: bool) -> tuple[dict[str, Any], dict[str, str]]:
    environment = settings.environment_with({})
    where = {field: f"{_PREFIX}_{_word(name)}_{_word(field)}" for field in fields}
    values = {field: environment[variable] for field, variable in where.items() if environment.get(variable)}
    if values:
        return values, where
    if not ask_prefect:
        raise ConnectionElsewhere(name)
    return _from_block(name), where


def _from_block(name: str) -> dict[str, Any]:
    from prefect.blocks.system import Secret

    mend = (
        f"set {_PREFIX}_{_word(name)}_… for its fields, or make a Prefect Secret block {name!r} "
        "that holds a JSON object of them"
    )
    try:
        value: Any = Secret.load(name).get()  # type: ignore[union-attr]  # a coroutine only where a loop runs
    except ValueError as error:
        raise UsageError(f"there is no connection {name!r}", mend=mend) from error
    try:
        fields = orjson.loads(value) if isinstance(value, str | bytes) else value
    except orjson.JSONDecodeError:
        fields = None
    if not isinstance(fields, Mapping):
        raise UsageError(f"the Secret block {name!r} holds no JSON object", mend=mend)
    return dict(fields)


def _check(
    spec: EvaluatorSpec, schema: Mapping[str, Any], values: Mapping[str, Any], where: Mapping[str, str]
) -> None:
    missing = [where.get(field, field) for field in schema.get("required", ()) if field not in values]
    if missing:
        raise UsageError(
            f"evaluator {spec.reference} needs a connection: {', '.join(missing)} is not set",
            mend="set it, or name a connection with --connection",
        )
    from jsonschema import Draft202012Validator  # only where there is a schema: it is dear to import

    problem = next(iter(Draft202012Validator(dict(schema)).iter_errors(dict(values))), None)
    if problem is not None:
        # The message of a validator repeats the value, which may be the secret.
        place = ".".join(map(str, problem.absolute_path)) or "it"
        raise UsageError(
            f"the connection of {spec.reference} does not fit: {place} breaks its schema's {problem.validator!r}"
        )


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").upper()
