"""Python values as JSON values, and recorded JSON values as the type that a tool declares."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, get_args, get_origin, get_type_hints

from rejudge.models.canonical import JsonValue, canonical_bytes

_SAFE = 1 << 63
_DEPTH = 60
"""Deeper than any tool's arguments, and far from Python's own recursion limit."""


def jsonable(value: object) -> JsonValue:
    """The value as JSON can hold it: the same value gives the same JSON in every process.

    Text and numbers are cleaned as they are when a trace is read. Models, dataclasses, dates, enums and the like
    take pydantic's JSON form; sets are sorted; an object that has no JSON form becomes ``<module.Type>``, since
    its repr may hold a memory address.
    """
    return _jsonable(value, _DEPTH)


def _jsonable(value: object, depth: int) -> JsonValue:
    kind = type(value)
    if value is None or kind is bool or (kind is str and _is_plain(value)):
        return value
    if kind is int and -_SAFE < value < _SAFE:  # type: ignore[operator]
        return value
    if kind is str or kind is int or kind is float:
        return _cleaned(value)
    if depth == 0:
        return _placeholder(value)
    if isinstance(value, dict):
        return {_key(key): _jsonable(item, depth - 1) for key, item in value.items()}
    if kind is list or kind is tuple:
        return [_jsonable(item, depth - 1) for item in value]  # type: ignore[attr-defined]
    if isinstance(value, set | frozenset):
        return sorted((_jsonable(item, depth - 1) for item in value), key=canonical_bytes)
    return _through_pydantic(value, depth)


def _is_plain(text: Any) -> bool:
    return text.isascii() and "\0" not in text


def _cleaned(value: Any) -> JsonValue:
    from rejudge.otel.text import clean_value  # imports the room; a tool that nobody records never gets here

    return clean_value(value)


def _through_pydantic(value: object, depth: int) -> JsonValue:
    from pydantic_core import to_jsonable_python

    try:
        plain = to_jsonable_python(
            value, fallback=_placeholder, inf_nan_mode="strings", bytes_mode="base64", timedelta_mode="iso8601"
        )
    except Exception:  # a serializer of the agent's own may raise anything; its argument is still one
        return _placeholder(value)
    return _jsonable(plain, depth - 1)


def _placeholder(value: object) -> str:
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"


def _key(key: object) -> str:
    plain = _jsonable(key, 1)
    return plain if isinstance(plain, str) else canonical_bytes(plain).decode()


class Misfit(ValueError):
    """A recorded value does not fit the declared type."""


def typed_result(function: Callable[..., Any] | None, recorded: JsonValue) -> Any:
    """A recorded result as the function's declared return type, where it declares one.

    A trace may hold the result as its JSON text, or the JSON where text was returned: both are taken back.

    Raises:
        Misfit: Where the recorded value is not of that type.
    """
    if function is None:
        return recorded
    adapter = _return_adapter(function)
    if adapter is None:
        return recorded
    return _validated(adapter, recorded)


def _validated(adapter: Any, recorded: JsonValue) -> Any:
    from pydantic import ValidationError

    try:
        return adapter.validate_python(recorded)
    except ValidationError as error:
        first = error
    try:
        if isinstance(recorded, str):
            return adapter.validate_json(recorded)
        # Python's JSON forms of dates, tuples and bytes are accepted in JSON mode only.
        return adapter.validate_json(canonical_bytes(recorded))
    except ValidationError:
        pass
    try:
        return adapter.validate_python(canonical_bytes(recorded).decode())
    except ValidationError:
        raise Misfit(f"the recorded result is not a {adapter.rejudge_name}: {_first(first)}") from first


def _first(error: Any) -> str:
    detail = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(str(part) for part in detail["loc"])
    return f"{path}: {detail['msg']}" if path else str(detail["msg"])


@lru_cache(maxsize=4096)
def _return_adapter(function: Callable[..., Any]) -> Any:
    annotation = return_annotation(function)
    if annotation is Any or annotation is object:
        return None
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        adapter: Any = TypeAdapter(annotation)
    except PydanticUserError:
        return None  # a class that has no JSON form
    adapter.rejudge_name = getattr(annotation, "__name__", str(annotation))
    return adapter


@lru_cache(maxsize=4096)
def result_schema(function: Callable[..., Any]) -> dict[str, Any] | None:
    """JSON schema of what the function declares to return; None where it declares nothing that has one."""
    adapter = _return_adapter(function)
    if adapter is None:
        return None
    schema: dict[str, Any] = adapter.json_schema()
    return schema


def return_annotation(function: Callable[..., Any]) -> Any:
    """What the function says it returns (a generator: a list of what it yields); Any where it does not say."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception:  # an annotation may name what exists for type checkers only
        return Any
    annotation = hints.get("return", Any)
    origin = getattr(get_origin(annotation), "__name__", "")
    if origin in _YIELDING:
        items = get_args(annotation)
        return list[items[0]] if items else list[Any]  # type: ignore[valid-type]
    return get_args(annotation)[-1] if origin in {"Awaitable", "Coroutine"} else annotation


_YIELDING = {"Generator", "AsyncGenerator", "Iterator", "AsyncIterator", "Iterable", "AsyncIterable"}
