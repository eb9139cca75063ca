"""`rejudge cohort`: immutable, ordered lists of sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.cli.selecting import required, selection_options

if TYPE_CHECKING:
    from rejudge.api import Store
    from rejudge.models.selection import Selection

_COLUMNS: dict[str, Callable[[Any], object]] = {
    "cohort": lambda one: f"{one.name}@{one.number}",
    "agent": lambda one: one.agent,
    "sessions": lambda one: one.size,
    "chosen by": lambda one: one.selection,
    "made": lambda one: one.created_at,
}


@click.group(cls=NounGroup)
def cohort() -> None:
    """The sessions that experiments are run over."""


@cohort.command()
@click.argument("name", metavar="NAME")
@selection_options
@output_options
def create(output: Output, *, name: str, selection: Callable[[], Selection | None]) -> None:
    """Make a cohort: version 1 of a new name."""
    chosen = required(selection())
    with opened() as store:
        made = store.cohorts.create(name, **_ways(chosen))
        _said(output, store, made, created=True)


@cohort.command()
@click.argument("name", metavar="NAME")
@selection_options
@output_options
def version(output: Output, *, name: str, selection: Callable[[], Selection | None]) -> None:
    """Make the next version of a cohort; the same list again is the same version."""
    chosen = required(selection())
    with opened() as store:
        made, created = store.cohorts.version(name, **_ways(chosen))
        _said(output, store, made, created=created)


@cohort.command("list")
@click.option("--name", metavar="NAME", help="The versions of this one.")
@output_options
def list_(output: Output, *, name: str | None) -> None:
    """List cohort versions."""
    with opened() as store:
        rows = store.cohorts.list(name)
    output.items([_document(one) for one in rows] if output.as_json else rows, _COLUMNS)


@cohort.command()
@click.argument("reference", metavar="NAME[@V]")
@output_options
def show(output: Output, *, reference: str) -> None:
    """Show one version and its sessions."""
    with opened() as store:
        found = store.cohorts.get(reference)
        members = store.cohorts.members(reference)
    if output.as_json:
        output.document({**_document(found), "session_ids": members})
        return
    output.item(found, [(name, column(found)) for name, column in _COLUMNS.items()])
    for one in members:
        click.echo(one)


@cohort.command()
@click.argument("first", metavar="NAME@V")
@click.argument("second", metavar="NAME@V")
@output_options
def diff(output: Output, *, first: str, second: str) -> None:
    """Show what the second version has and the first has not, and the other way round."""
    with opened() as store:
        found = store.cohorts.diff(first, second)
    if output.as_json:
        output.document(found)
        return
    for one in found.removed:
        click.echo(f"- {one}")
    for one in found.added:
        click.echo(f"+ {one}")
    click.echo(f"{found.kept:,} in both{', in another order' if found.reordered else ''}")


def _ways(selection: Selection) -> dict[str, Any]:
    return {name: value for name, value in selection.model_dump().items() if value not in (None, False)}


def _document(one: Any) -> dict[str, Any]:
    return {
        "id": one.id,
        "name": one.name,
        "number": one.number,
        "reference": f"{one.name}@{one.number}",
        "agent": one.agent,
        "size": one.size,
        "selection": one.selection,
        "digest": one.digest,
        "created_at": one.created_at,
    }


def _said(output: Output, store: Store, made: Any, *, created: bool) -> None:
    from rejudge.store.selecting import session_origins

    reference = f"{made.name}@{made.number}"
    said = f"made {reference} of {made.size:,} sessions" if created else f"{reference} is the same list"
    output.result({**_document(made), "created": created}, said)
    origins = list(session_origins(store.database, store.cohorts.members(reference)).values())
    replays = origins.count("replay")
    if 0 < replays < len(origins):
        output.note(
            f"{replays:,} of them are replays, not what really happened; without them: "
            f'--filter \'agent == "{made.agent}" and origin != "replay"\''
        )
