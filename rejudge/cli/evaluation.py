"""`rejudge evaluation` and `rejudge scoring`: the rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, text

if TYPE_CHECKING:
    from rejudge.api import Store

_EVALUATION_COLUMNS: dict[str, Callable[[Any], object]] = {
    "evaluator": lambda one: f"{one.evaluator}@{one.evaluator_version}" if one.evaluator else "label",
    "result": lambda one: one.name,
    "type": lambda one: one.data_type,
    "score": lambda one: said(one),
    "passed": lambda one: one.passed,
    "explanation": lambda one: one.explanation or one.unscored,
}

_SCORING_COLUMNS: dict[str, Callable[[Any], object]] = {
    "evaluator": lambda one: f"{one.evaluator}@{one.evaluator_version}",
    "status": lambda one: one.status,
    "seconds": lambda one: one.duration_seconds,
    "attempts": lambda one: one.attempts,
    "error": lambda one: what_failed(one.error),
}


@click.group(cls=NounGroup)
def evaluation() -> None:
    """The results: one named, typed value for one session."""


@evaluation.command("list")
@click.option("--session", metavar="SESSION", help="Of this session.")
@click.option("--evaluator", metavar="NAME[@V]", help="By this evaluator.")
@click.option("--name", metavar="NAME", help="Rows of this name.")
@click.option("--history", is_flag=True, help="Superseded rows too.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most this many.")
@output_options
def list_evaluations(
    output: Output, *, session: str | None, evaluator: str | None, name: str | None, history: bool, limit: int | None
) -> None:
    """List evaluations, labels among them."""
    with opened() as store:
        rows = store.evaluations.list(session=session, evaluator=evaluator, name=name, history=history, limit=limit)
        show_rows(output, store, rows, _EVALUATION_COLUMNS)


@click.group(cls=NounGroup)
def scoring() -> None:
    """How each session and evaluator ended: what could not be scored is a row too."""


@scoring.command("list")
@click.option("--session", metavar="SESSION", help="Of this session.")
@click.option("--evaluator", metavar="NAME[@V]", help="By this evaluator.")
@click.option("--status", "statuses", multiple=True, metavar="STATUS", help="Such as failed. Repeat for several.")
@click.option("--history", is_flag=True, help="Superseded rows too.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most this many.")
@output_options
def list_scorings(
    output: Output,
    *,
    session: str | None,
    evaluator: str | None,
    statuses: tuple[str, ...],
    history: bool,
    limit: int | None,
) -> None:
    """List scorings."""
    with opened() as store:
        rows = store.evaluations.scorings(
            session=session, evaluator=evaluator, statuses=statuses or None, history=history, limit=limit
        )
        show_rows(output, store, rows, _SCORING_COLUMNS)


def show_rows(
    output: Output, store: Store, rows: Sequence[Any], columns: Mapping[str, Callable[[Any], object]]
) -> None:
    """Rows that are each of a session; a person knows it by its number."""
    if output.as_json:
        output.items(rows, columns)
        return
    from rejudge.store.selecting import session_numbers

    numbers = session_numbers(store.database, (one.session_id for one in rows))
    output.items(rows, {"session": lambda one: numbers.get(one.session_id), **columns})


def said(one: Any) -> object:
    """What a result says: its score, its text, or of a category both."""
    if one.value is not None and one.score is not None:
        return f"{one.value} ({text(one.score)})"
    return one.value if one.score is None else one.score


def what_failed(error: str | None) -> str | None:
    """The line of an error that says what happened."""
    from rejudge.models.failure_line import failure_line

    return failure_line(error)
