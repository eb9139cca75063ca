"""`rejudge label`: what people say of a session."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from rejudge.cli.evaluation import said, show_rows
from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.errors import UsageError

_COLUMNS: dict[str, Callable[[Any], object]] = {
    "label": lambda one: one.name,
    "score": said,
    "passed": lambda one: one.passed,
    "explanation": lambda one: one.explanation,
    "author": lambda one: one.author,
    "made": lambda one: one.created_at,
}


@click.group(cls=NounGroup)
def label() -> None:
    """Human evaluations, written directly onto sessions."""


@label.command()
@click.argument("session", metavar="SESSION")
@click.argument("name", metavar="NAME")
@click.option("--score", metavar="NUMBER|true|false", help="A number, true or false.")
@click.option("--value", metavar="TEXT", help="A word, such as a class.")
@click.option("--passed/--failed", "passed", default=None, help="Your verdict.")
@click.option("--explanation", metavar="TEXT", help="Why.")
@click.option("--author", metavar="WHO", help="Whose label it is.")
@output_options
def add(
    output: Output,
    *,
    session: str,
    name: str,
    score: str | None,
    value: str | None,
    passed: bool | None,
    explanation: str | None,
    author: str | None,
) -> None:
    """Label one session. A name is given once a session: a second one is refused."""
    fields: dict[str, Any] = {"value": value, "passed": passed, "explanation": explanation}
    if score is not None:
        fields["score"] = _score(score)
    given = {key: one for key, one in fields.items() if one is not None}
    with opened() as store:
        made = store.labels.add(session, name=name, author=author, **given)
    if output.as_json:
        output.document(made)
    else:
        output.result({}, f"labelled session {session}: {name}")


@label.command("import")
@click.argument("file", metavar="FILE.csv|FILE.jsonl")
@click.option("--author", metavar="WHO", help="Whose labels they are, where the file does not say.")
@output_options
def import_(output: Output, *, file: str, author: str | None) -> None:
    """Import labels, all or none: columns or fields session, name, score, value, passed, explanation, author."""
    with opened() as store:
        made = store.labels.import_(file, author=author)
    output.result({"count": len(made), "ids": [one.id for one in made]}, f"{len(made):,} labels")


@label.command("list")
@click.option("--session", metavar="SESSION", help="Labels of this session.")
@click.option("--name", metavar="NAME", help="Labels of this name.")
@output_options
def list_(output: Output, *, session: str | None, name: str | None) -> None:
    """List labels."""
    with opened() as store:
        show_rows(output, store, store.labels.list(session=session, name=name), _COLUMNS)


def _score(text: str) -> bool | int | float:
    try:
        value = json.loads(text.lower())
    except ValueError:
        value = None
    if isinstance(value, (bool, int, float)):
        return value
    raise UsageError(f"--score {text!r} is neither a number nor true or false", mend="use --value for text")
