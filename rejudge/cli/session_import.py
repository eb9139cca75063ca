"""`rejudge session import`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejudge.cli.import_options import import_options
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.cli.progress import bar
from rejudge.errors import NotFound, PartialFailure

if TYPE_CHECKING:
    from rejudge.otel import Options

_REFUSALS_SHOWN = 10


@click.command("import")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--agent", required=True, metavar="NAME", help="The agent that these are runs of.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Put on every session. Repeat for several.")
@import_options
@output_options
def import_(
    output: Output, *, paths: tuple[str, ...], agent: str, tags: tuple[str, ...], options: Callable[[], Options]
) -> int:
    """Import traces as sessions: files, folders or globs; - is stdin.

    The same traces again change nothing; later spans of a known session update it. What cannot be read is refused
    with its place and reason, and costs only itself.
    """
    total = _size(paths)
    with opened() as store, bar(output, "reading traces", unit="bytes") as move:
        report = store.sessions.import_(
            *paths,
            agent=agent,
            tag=tags,
            options=options(),
            stdin=sys.stdin.buffer,
            progress=lambda now: move(now.bytes_read, total),
        )
    document = {
        "new": report.new,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "refused": [str(one) for one in report.refused],
        "session_ids": list(report.session_ids),
    }
    sentence = f"{report.new:,} new, {report.updated:,} updated, {report.unchanged:,} unchanged"
    refused = len(report.refused)
    output.result(document, f"{sentence}, {refused:,} refused" if refused else sentence)
    for one in report.refused[:_REFUSALS_SHOWN]:
        output.note(f"refused: {one}")
    if refused > _REFUSALS_SHOWN:
        output.note(f"and {refused - _REFUSALS_SHOWN:,} more; --json lists them all")
    if refused:
        return PartialFailure.exit_code
    return 0 if report.session_ids else NotFound.exit_code


def _size(paths: tuple[str, ...]) -> int | None:
    """Bytes to read; None where that cannot be told before."""
    files = [Path(path) for path in paths]
    return sum(file.stat().st_size for file in files) if all(file.is_file() for file in files) else None
