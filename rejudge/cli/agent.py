"""`rejudge agent`: programs under test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.errors import UsageError

_COLUMNS: dict[str, Callable[[Any], object]] = {
    "agent": lambda one: one.name,
    "versions": lambda one: one.versions,
    "sessions": lambda one: one.sessions,
    "since": lambda one: one.created_at,
}


@click.group(cls=NounGroup)
def agent() -> None:
    """The programs under test, and how each version is run."""


@agent.command()
@click.argument("name", metavar="NAME")
@click.option("--entrypoint", metavar="FILE.py:FUNCTION", help="A Python function, in a file or an installed module.")
@click.option("--command", metavar="COMMAND", help="A shell command, in any language, instead.")
@click.option("--folder", metavar="FOLDER", help="Where it runs. [default: here]")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="Set for it; stored: no secrets.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="For one run of it.")
@output_options
def register(
    output: Output,
    *,
    name: str,
    entrypoint: str | None,
    command: str | None,
    folder: str | None,
    variables: tuple[str, ...],
    timeout: float | None,
) -> None:
    """Register how an agent is run: the same source is the same version, changed source the next one."""
    with opened() as store:
        version, created = store.agents.register(
            name,
            entrypoint=entrypoint,
            command=command,
            folder=folder,
            environment=dict(_pair(one) for one in variables),
            limits={"timeout_seconds": timeout} if timeout is not None else None,
        )
    reference = f"{version.agent}@{version.number}"
    document = {
        "agent": version.agent,
        "number": version.number,
        "reference": reference,
        "digest": version.digest,
        "created": created,
    }
    output.result(document, f"registered {reference}" if created else f"{reference} is unchanged")


@agent.command("list")
@output_options
def list_(output: Output) -> None:
    """List agents."""
    with opened() as store:
        rows = store.agents.list()
    output.items(rows, _COLUMNS)


@agent.command()
@click.argument("reference", metavar="NAME[@V]")
@output_options
def show(output: Output, *, reference: str) -> None:
    """Show how an agent version is run."""
    with opened() as store:
        version = store.agents.get(reference)
    lines = (
        ("agent", f"{version.agent}@{version.number}"),
        *((name.replace("_", " "), _shown(value)) for name, value in version.spec.items() if value),
        ("registered", version.created_at),
    )
    output.item(version, lines)


def _shown(value: Any) -> object:
    """A value of a spec; of several that have names, those that are set."""
    return [f"{name}={one}" for name, one in value.items() if one is not None] if isinstance(value, dict) else value


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"--env {text!r} has no name and value", mend="write --env NAME=VALUE")
    return name, value
