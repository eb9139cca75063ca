"""`rejudge session diff`: two sessions side by side."""

from __future__ import annotations

from pathlib import Path

import click

from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, show_rich, write_file


@click.command()
@click.argument("baseline", metavar="A")
@click.argument("replay", metavar="B")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write it as a page.")
@click.option("--all", "whole", is_flag=True, help="Every step; else equal ones far from a difference are counted.")
@output_options
def diff(output: Output, *, baseline: str, replay: str, html: Path | None, whole: bool) -> None:
    """Show two sessions step by step: a baseline and its replay, or any two.

    The place where they part is marked; the steps after it are aligned again where they can be.
    """
    with opened() as store:
        found = store.sessions.diff(baseline, replay)
    if html is not None:
        from rejudge.report.diff_html import html_diff

        write_file(output, html, html_diff(found))
    if output.as_json:
        output.document({**found.model_dump(), "counts": found.counts})
    else:
        from rejudge.report.diff_terminal import terminal_diff

        show_rich(terminal_diff(found, whole=whole))
