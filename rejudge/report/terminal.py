"""A comparison on the terminal, with rich."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rejudge.models.comparison import Comparison, MetricComparison, VerdictWord
from rejudge.models.safe_text import one_line
from rejudge.report.wording import MARKS, by_urgency, headline, member_names, overall, power_line, table_rows

COLOURS: Final[dict[VerdictWord, str]] = {
    "regressed": "bold red",
    "improved": "bold green",
    "changed": "bold magenta",
    "equivalent": "green",
    "unchanged": "dim",
    "inconclusive": "yellow",
}

FLIPS: Final = 5
"""Flips and missing members named for one metric."""

WIDTH: Final = 160


def terminal_report(comparison: Comparison, *, flips: int = FLIPS) -> RenderableType:
    """The paired table, then what flipped and what is missing, as something `rich` prints."""
    names = member_names(comparison)
    parts: list[RenderableType] = [terminal_table(comparison)]
    for metric in by_urgency(comparison):
        parts += _notes(metric, names, flips)
    word = overall(comparison)
    parts.append(Text.assemble((f"{MARKS[word]} ", COLOURS[word]), (headline(comparison), "bold")))
    return Group(*parts)


def terminal_table(comparison: Comparison) -> Table:
    """The paired table alone."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("metric", overflow="fold")
    for head in ("baseline", "replay", "difference", "interval", "pairs"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in table_rows(comparison):
        table.add_row(
            Text.assemble(one_line(row.metric), " ", (row.statistic, "dim")),
            row.baseline,
            row.replay,
            row.difference,
            Text(row.interval),
            row.coverage,
            Text(f"{MARKS[row.verdict]} {row.verdict}", style=COLOURS[row.verdict]),
        )
    return table


def _notes(metric: MetricComparison, names: Mapping[str, str], limit: int) -> list[Text]:
    lines = []
    for flip in metric.flips[:limit]:
        why = flip.replay_explanation or flip.baseline_explanation
        lines.append(
            f"  {flip.kind}: {names.get(flip.member, flip.member)} {flip.baseline} → {flip.replay}"
            + (f" ({why})" if why else "")
        )
    if len(metric.flips) > limit:
        lines.append(f"  and {len(metric.flips) - limit} more flips")
    for one in metric.missing[:limit]:
        trial = "" if one.trial is None else f", trial {one.trial}"
        lines.append(f"  missing: {names.get(one.member, one.member)} ({one.side}{trial}): {one.reason}")
    if len(metric.missing) > limit:
        lines.append(f"  and {len(metric.missing) - limit} more missing")
    if metric.verdict.word == "inconclusive":
        figure = metric.figures[0] if metric.figures else None
        power = power_line(figure.power, rate=figure.statistic != "mean") if figure is not None else ""
        lines.append(f"  {metric.verdict.reason}" + (f"; {power}" if power else ""))
    head = Text.assemble("\n", (one_line(metric.metric.key), COLOURS[metric.verdict.word]))
    return [head, *(Text("  " + one_line(line, limit=WIDTH)) for line in lines)] if lines else []
