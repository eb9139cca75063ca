"""The keyword parameters of an evaluator: their JSON Schema, and the values it is called with."""

from __future__ import annotations

import functools
import inspect
import typing
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic.errors import (
    PydanticInvalidForJsonSchema,
    PydanticSchemaGenerationError,
    PydanticUndefinedAnnotation,
    PydanticUserError,
)
from pydantic.json_schema import GenerateJsonSchema

from rejudge.errors import UsageError

Evaluator = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Parameters:
    """What an evaluator can be given beside the session."""

    model: type[BaseModel]
    """One field per parameter, ``p0``, ``p1``…, under the parameter's name as alias: any name is allowed so."""
    names: Mapping[str, str]
    """Parameter by field."""

    def schema(self) -> dict[str, Any]:
        """Their JSON Schema (2020-12)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a default that JSON cannot hold is left out, which is right here
            schema = self.model.model_json_schema(schema_generator=_WithoutTitles)
        schema.pop("title", None)
        schema.setdefault("properties", {})
        return schema

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments for what was given: in the annotated types, without defaults.

        Raises:
            UsageError: With every parameter that does not fit.
        """
        try:
            checked = self.model.model_validate(dict(given))
        except ValidationError as error:
            problems = [f"{_path(one['loc'])}: {one['msg']}" for one in error.errors(include_url=False)]
            raise UsageError("parameters do not fit: " + "; ".join(problems)) from error
        values = {self.names[field]: getattr(checked, field) for field in checked.model_fields_set & set(self.names)}
        return {**values, **(checked.model_extra or {})}


def parameters_of(function: Evaluator, *, where: str) -> Parameters:
    """The parameters of an evaluator, out of its signature.

    Args:
        function: Takes the session first, and parameters that can be given by name.
        where: File and line, for errors.

    Raises:
        UsageError: Where it cannot be called so, or a parameter has a type that JSON cannot hold.
    """
    signature = _signature(function, where)
    hints = _hints(function, where)
    fields: dict[str, Any] = {}
    names: dict[str, str] = {}
    for number, parameter in enumerate(_keywords(signature, where)):
        annotation = hints.get(parameter.name, Any)
        default = ... if parameter.default is inspect.Parameter.empty else parameter.default
        fields[f"p{number}"] = _field(annotation, default, parameter.name)
        names[f"p{number}"] = parameter.name
    free = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in signature.parameters.values())
    config = ConfigDict(extra="allow" if free else "forbid", arbitrary_types_allowed=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = create_model("Parameters", __config__=config, **fields)
            parameters = Parameters(model, names)
            parameters.schema()
    except (PydanticUserError, PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"{where}: a parameter has a type that JSON cannot hold: {reason}",
            mend="annotate parameters with JSON types, Literal, Enum or pydantic models",
        ) from error
    return parameters


def _field(annotation: Any, default: Any, name: str) -> tuple[Any, Any]:
    if type(default).__module__ == "pydantic.fields" and hasattr(default, "is_required"):
        # `limit: int = Field(3, ge=1)`: the default is a field itself
        required = default.is_required()
        return typing.Annotated[annotation, default], Field(... if required else default.get_default(), alias=name)
    return annotation, Field(default, alias=name)


def _signature(function: Evaluator, where: str) -> inspect.Signature:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: its signature cannot be read: {error}") from error
    parameters = list(signature.parameters.values())
    takes_session = parameters and parameters[0].kind in (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.VAR_POSITIONAL,
    )
    if not takes_session:
        raise UsageError(
            f"{where}: it does not take a session", mend="write def evaluate(session: SessionView, *, …)"
        )
    return signature


def _keywords(signature: inspect.Signature, where: str) -> list[inspect.Parameter]:
    keywords = []
    for parameter in list(signature.parameters.values())[1:]:
        if parameter.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            keywords.append(parameter)
        elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise UsageError(
                f"{where}: parameter {parameter.name!r} cannot be given by name",
                mend="parameters come after a *: def evaluate(session, *, minimum: int = 1)",
            )
    return keywords


def _hints(function: Evaluator, where: str) -> dict[str, Any]:
    target: Any = function
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target):
        target = type(target).__call__
    try:
        return typing.get_type_hints(inspect.unwrap(target), include_extras=True)
    except (NameError, PydanticUndefinedAnnotation) as error:
        raise UsageError(
            f"{where}: an annotation names something that is not there: {error}",
            mend="import it outside `if TYPE_CHECKING:`",
        ) from error
    except TypeError as error:
        raise UsageError(f"{where}: an annotation cannot be read: {error}") from error


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "parameters"


class _WithoutTitles(GenerateJsonSchema):
    """Titles made up from names say nothing that the names do not."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
