"""What may be said about an import: the same options wherever spans become sessions."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import click

from rejudge.errors import UsageError


def import_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command ``--join-on``, ``--no-content`` and the redactions; it is called with ``options=``, a function.

    A function, because reading them imports the trace room.
    """

    @click.option("--join-on", metavar="ATTRIBUTE", help="A span or resource attribute that holds the session's id.")
    @click.option("--no-content", is_flag=True, help="Keep no prompts, answers, arguments or results.")
    @click.option("--redact", multiple=True, metavar="GLOB", help="Replace the values of these attributes. Repeat.")
    @click.option(
        "--redact-pattern", multiple=True, metavar="REGEX", help="Replace what matches in any recorded text. Repeat."
    )
    @functools.wraps(command)
    def with_options(
        *args: Any,
        join_on: str | None,
        no_content: bool,
        redact: tuple[str, ...],
        redact_pattern: tuple[str, ...],
        **kwargs: Any,
    ) -> Any:
        def options() -> Any:
            from rejudge.otel import Options, Redaction

            for pattern in redact_pattern:
                _check(pattern)
            rules = Redaction(attributes=redact, patterns=redact_pattern) if redact or redact_pattern else None
            return Options(join_on=join_on, redact=rules, content=not no_content)

        return command(*args, options=options, **kwargs)

    return with_options


def _check(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise UsageError(
            f"--redact-pattern {pattern!r} is no regular expression: {error}", mend="mind the brackets"
        ) from error
