"""`rejudge evaluation` and `rejudge scoring`: the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, text

_EVALUATION_COLUMNS: dict[str, Callable[[Any], object]] = {
    "session": lambda one: one.session_id,
    "evaluator": lambda one: f"{one.evaluator}@{one.evaluator_version}" if one.evaluator else "label",
    "result": lambda one: one.name,
    "type": lambda one: one.data_type,
    "score": lambda one: said(one),
    "passed": lambda one: one.passed,
    "explanation": lambda one: one.explanation or one.unscored,
}

_SCORING_COLUMNS: dict[str, Callable[[Any], object]] = {
    "session": lambda one: one.session_id,
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
    output.items(rows, _EVALUATION_COLUMNS)


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
    output.items(rows, _SCORING_COLUMNS)


def said(one: Any) -> object:
    """What a result says: its score, its text, or of a category both."""
    if one.value is not None and one.score is not None:
        return f"{one.value} ({text(one.score)})"
    return one.value if one.score is None else one.score


def what_failed(error: str | None) -> str | None:
    """The line of an error that says what happened."""
    from rejudge.models.failure_line import failure_line

    return failure_line(error)
