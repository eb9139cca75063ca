"""What a command shows: a table or lines for a person, JSON for a program."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.tasks.serving import HandedOver

PIPE_WIDTH: Final = 100_000
"""Columns of a table that goes into a pipe: nothing is cut or folded there."""


@dataclass(frozen=True, slots=True)
class Output:
    """How this command was asked to show things."""

    as_json: bool = False
    quiet: bool = False

    def items(self, rows: Sequence[Any], columns: Mapping[str, Callable[[Any], object]]) -> None:
        """A list: ``{"items": […], "count": n}``, or a table of `columns` by heading."""
        if self.as_json:
            self.document({"items": [jsonable(row) for row in rows], "count": len(rows)})
        elif rows:
            table([[column(row) for column in columns.values()] for row in rows], list(columns))
        else:
            self.note("nothing there yet")

    def item(self, row: Any, lines: Iterable[tuple[str, object]]) -> None:
        """One thing: its JSON, or named lines."""
        if self.as_json:
            self.document(jsonable(row))
            return
        shown = [(name, text(value)) for name, value in lines if value is not None]
        width = max((len(name) for name, _ in shown), default=0)
        for name, value in shown:
            click.echo(f"{name:<{width}}  {value}")

    def result(self, document: Mapping[str, Any], *sentences: str) -> None:
        """What a command did: its JSON, or the sentences, a line each."""
        if self.as_json:
            self.document(document)
            return
        for sentence in sentences:
            click.echo(plain(sentence))

    def document(self, value: object) -> None:
        """JSON on stdout, one document."""
        click.echo(json.dumps(jsonable(value), allow_nan=False, separators=(", ", ": ")))

    def note(self, sentence: str) -> None:
        """A remark for the person at the terminal: stderr, never where ``-q`` asked for none."""
        if not self.quiet:
            click.echo(plain(sentence), err=True)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command ``--json`` and ``-q``; its first argument is then the `Output`."""

    @click.option("--json", "as_json", is_flag=True, help="Results as JSON on stdout, errors as JSON on stderr.")
    @click.option("-q", "--quiet", is_flag=True, help="No remarks and no progress bar.")
    @functools.wraps(command)
    def with_output(*args: Any, as_json: bool, quiet: bool, **kwargs: Any) -> Any:
        return command(Output(as_json=as_json, quiet=quiet), *args, **kwargs)

    return with_output


def table(rows: Sequence[Sequence[object]], headings: Sequence[str]) -> None:
    """A table on stdout; recorded text in it is shown, never obeyed."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False, soft_wrap=False)

    def drawn(places: Sequence[int]) -> Table:
        made = Table(box=None, pad_edge=False, header_style="bold")
        for place in places:
            numeric = all(isinstance(row[place], (int, float, Decimal)) or row[place] is None for row in rows)
            made.add_column(headings[place], justify="right" if numeric else "left", overflow="fold")
        for row in rows:
            made.add_row(*(Text(text(row[place])) for place in places))
        return made

    every = range(len(headings))
    whole = drawn(every)
    unbounded = console.options.update(width=PIPE_WIDTH)
    if {"no.", "id"} <= set(headings) and console.measure(whole, options=unbounded).maximum > console.width:
        # An id in pieces cannot be copied, and the number names the same.
        whole = drawn([place for place in every if headings[place] != "id"])
    console.print(whole)


def show_rich(drawn: Any) -> None:
    """Something that `rich` draws, on stdout; in a pipe nothing is cut or coloured."""
    from rich.console import Console

    piped = not sys.stdout.isatty()
    Console(width=PIPE_WIDTH if piped else None, highlight=False, soft_wrap=piped).print(drawn)


def write_file(output: Output, path: Path, content: str) -> None:
    """Write a file that was asked for.

    Raises:
        UsageError: Where it cannot be written.
    """
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", mend="name another file") from error
    output.note(f"wrote {path}")


def require_writable(path: Path) -> None:
    """Refuse a file that cannot be written, before the work is done whose result it is to hold.

    Raises:
        UsageError: Where it is a folder, has none to be in, or may not be written.
    """
    if path.is_dir():
        reason = "is a folder"
    elif not path.parent.is_dir():
        reason = f"has no folder {str(path.parent)!r} to be in"
    elif not os.access(path if path.exists() else path.parent, os.W_OK):
        reason = "may not be written"
    else:
        return
    raise UsageError(f"{str(path)!r} {reason}", mend="name another file; nothing was run")


def say_handed_over(output: Output, run: HandedOver) -> int:
    """Tell where work went that a served deployment does."""
    output.result({"flow_run_id": run.id, "url": run.url}, f"handed over: {run.url}")
    return 0


def text(value: object) -> str:
    """A value as a person reads it: ``-`` for nothing, no control characters."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, (list, tuple)):
        return ", ".join(text(one) for one in value)
    return plain(str(value))


def plain(recorded: str) -> str:
    """Text on one line with nothing in it that a terminal would act on."""
    if recorded.isascii() and recorded.isprintable():
        return recorded
    from rejudge.models.safe_text import one_line

    return one_line(recorded)


def jsonable(value: Any) -> Any:
    """A value as JSON can hold it: models by their fields, times in ISO form, money as a number."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): jsonable(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [jsonable(one) for one in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: jsonable(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if hasattr(type(value), "model_fields"):
        return {name: jsonable(getattr(value, name)) for name in type(value).model_fields}
    return str(value)
