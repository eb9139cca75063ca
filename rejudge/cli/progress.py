"""A progress bar on a terminal's stderr, and nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rejudge.cli.output import Output


class Moves(Protocol):
    """Moves a bar."""

    def __call__(self, done: float, total: float | None = None) -> None:
        """So much of so much is done."""
        ...


@contextmanager
def bar(output: Output, what: str, *, unit: str = "items") -> Iterator[Moves]:
    """A bar for the length of a block; where nobody looks at stderr, or asked for quiet, none.

    Args:
        unit: ``items``, or ``bytes``.
    """
    if output.quiet or not sys.stderr.isatty():
        yield lambda done, total=None: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    count = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total=None: progress.update(task, completed=done, total=total)
