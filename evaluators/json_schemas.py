"""JSON Schemas out of parameters: refused when they cannot be used, and never fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rejudge.errors import NotSupported


def check_schema(name: str, schema: object) -> None:
    """Nothing where a schema can be used.

    Raises:
        ValueError: With the parameter's name: no valid schema, or one that refers outside itself.
    """
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    if not isinstance(schema, dict):
        raise ValueError(f"{name}: a JSON Schema is an object, not {type(schema).__name__}")
    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        raise ValueError(f"{name} is no valid JSON Schema, at {error.json_path}: {error.message}") from error
    outside = [reference for reference in _references(schema) if not _is_inside(reference, schema)]
    if outside:
        raise ValueError(f"{name} refers to {outside[0]!r}; put what it needs into its own $defs: nothing is fetched")


def violations(schema: dict[str, Any], value: Any) -> list[str]:
    """Where a value breaks a schema: JSON paths, never the values themselves.

    Raises:
        NotSupported: Where the schema refers to something that is not in it.
    """
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema, default=Draft202012Validator)
    nothing: Registry[Any] = Registry()
    try:
        found = kind(schema, registry=nothing).iter_errors(value)
        return sorted(f"{error.json_path} breaks {error.validator}" for error in found)
    except Unresolvable as error:
        raise NotSupported(f"the JSON Schema refers to {error.ref!r}, which is not in it") from error
    except RecursionError as error:
        raise NotSupported("the value or the JSON Schema is nested too deeply to be checked") from error


def _references(schema: object) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            reference = part.get("$ref")
            if isinstance(reference, str):
                yield reference
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _is_inside(reference: str, schema: object) -> bool:
    if reference.startswith("#"):
        return True
    base = schema.get("$id") if isinstance(schema, Mapping) else None
    if isinstance(base, str):
        return True
    return not reference.startswith(("http:", "https:", "file:", "urn:", "/", "."))
