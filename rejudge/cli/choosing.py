"""Which evaluators, with what params: the same options on every command that judges."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.importing import import_models
from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.models.requests import EvaluatorChoice


def evaluator_options(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command ``--evaluator``, ``--params`` and ``--connection``; it is called with ``evaluators=``."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option(
            "--evaluator",
            "references",
            multiple=True,
            required=required,
            metavar="NAME@V",
            help="An evaluator version, such as rejudge/cost@latest. Repeat for several.",
        )
        @click.option(
            "--params",
            multiple=True,
            metavar="NAME@V=JSON",
            help="Params of one of them. Repeat with other params to run it with both.",
        )
        @click.option("--connection", multiple=True, metavar="NAME@V=NAME", help="Credentials for one of them.")
        @functools.wraps(command)
        def with_evaluators(
            *args: Any,
            references: tuple[str, ...],
            params: tuple[str, ...],
            connection: tuple[str, ...],
            **kwargs: Any,
        ) -> Any:
            return command(*args, evaluators=_choices(references, params, connection), **kwargs)

        return with_evaluators

    return decorate


def _choices(
    references: tuple[str, ...], params: tuple[str, ...], connections: tuple[str, ...]
) -> tuple[EvaluatorChoice, ...]:
    import_models()
    from rejudge.models.requests import EvaluatorChoice

    for reference in references:
        if "@" not in reference:
            raise UsageError(f"evaluator {reference!r} names no version", mend=f"write {reference}@latest")
    named = dict.fromkeys(references)
    given: dict[str, list[dict[str, Any]]] = {name: [] for name in named}
    for name, text in _pairs("--params", params, named):
        given[name].append(_object(name, text))
    for name in named:
        if references.count(name) > max(1, len(given[name])):
            raise UsageError(
                f"evaluator {name!r} is named {references.count(name)} times",
                mend="name it once, and give --params for each way that it is to run",
            )
    credentials = dict(_pairs("--connection", connections, named))
    return tuple(
        EvaluatorChoice(evaluator=name, params=one, connection=credentials.get(name))
        for name in named
        for one in given[name] or [{}]
    )


def _pairs(option: str, values: Iterable[str], named: Iterable[str]) -> Iterable[tuple[str, str]]:
    names = tuple(named)
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise UsageError(
                f"{option} {value!r} has no =", mend=f"write {option} {names[0] if names else 'NAME@V'}=…"
            )
        if name not in names:
            mend = f"name one of {', '.join(names)}" if names else "give --evaluator too"
            raise UsageError(f"{option} is for {name!r}, which is not among the evaluators", mend=mend)
        yield name, text


def _object(name: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"params of {name} are no JSON: {error}", mend="write --params NAME@V='{\"x\": 1}'"
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"params of {name} are no JSON object", mend="write --params NAME@V='{\"x\": 1}'")
    return value
