"""Parameters, checked before anything runs, and their canonical form."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import orjson

from rejudge.errors import UsageError
from rejudge.models.canonical import canonical_bytes, digest_of
from rejudge.scoring.version import EvaluatorSpec

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_NO_DEMANDS: Final = frozenset({"type", "title", "description", "properties", "additionalProperties", "$defs"})
"""Keywords of a schema that ask nothing of no parameters at all."""


def checked_params(spec: EvaluatorSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they are kept on rows: as given, in canonical order.

    Args:
        spec: The evaluator version.
        params: By name.

    Raises:
        UsageError: Naming the parameter, what is allowed, and the nearest name. Rules between parameters are the
            evaluator's own: `WorkerPool.check` asks it.
    """
    try:
        canonical: dict[str, Any] = orjson.loads(canonical_bytes(dict(params)))
    except ValueError as error:
        raise UsageError(f"parameters of {spec.reference} are no JSON: {error}") from error
    _check_names(spec, canonical)
    errors = _errors(spec.parameter_schema, canonical)
    if errors:
        problems = "; ".join(_problem(error) for error in errors)
        raise UsageError(f"{spec.reference}: {problems}", mend=_takes(spec))
    return canonical


def _errors(schema: Mapping[str, Any], params: Mapping[str, Any]) -> list[ValidationError]:
    if not params and schema.get("type", "object") == "object" and _NO_DEMANDS.issuperset(schema):
        return []
    from jsonschema import Draft202012Validator  # only where there is something to check: it is dear to import

    return sorted(Draft202012Validator(schema).iter_errors(params), key=lambda error: list(error.path))


def params_digest(spec: EvaluatorSpec, params: Mapping[str, Any]) -> str:
    """Hex SHA-256 that tells two sets of parameters apart: a default that is spelled out changes nothing.

    Args:
        spec: The evaluator version.
        params: Out of `checked_params`.
    """
    properties: dict[str, Any] = spec.parameter_schema.get("properties", {})
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    return digest_of({**defaults, **params})


def _check_names(spec: EvaluatorSpec, params: Mapping[str, Any]) -> None:
    if spec.parameter_schema.get("additionalProperties") is not False:
        return
    known = spec.parameter_schema.get("properties", {})
    for name in params:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(f"{spec.reference} has no parameter {name!r}{hint}", mend=_takes(spec))


def _problem(error: ValidationError) -> str:
    path = ".".join(str(part) for part in error.absolute_path)
    shown = error.message if len(error.message) <= 300 else f"{error.message[:300]}…"
    return f"parameter {path}: {shown}" if path else f"parameters: {shown}"


def _takes(spec: EvaluatorSpec) -> str:
    """What an evaluator takes, in one line."""
    properties: dict[str, Any] = spec.parameter_schema.get("properties", {})
    if not properties:
        return f"{spec.reference} takes no parameters"
    required = spec.parameter_schema.get("required", [])
    listed = ", ".join(_shown(name, schema, name in required) for name, schema in properties.items())
    return f"it takes {listed}"


def _shown(name: str, schema: Mapping[str, Any], required: bool) -> str:
    kind = _kind(schema)
    default = f" = {orjson.dumps(schema['default']).decode()}" if "default" in schema else ""
    return f"{name}{f' ({kind})' if kind else ''}{default}{' (required)' if required else ''}"


def _kind(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(repr, schema["enum"]))
    kinds = [_kind(one) for one in schema.get("anyOf", ())]
    # What may be left out says so by its default.
    return " or ".join(dict.fromkeys(kind for kind in kinds if kind not in ("", "null"))) or str(
        schema.get("type", "")
    )
