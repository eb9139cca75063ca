"""A comparison as Markdown: for an artifact, a step summary, a comment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejudge.models.comparison import Comparison, Flip, MetricComparison
from rejudge.models.report import LedgerEntry, ReportContext
from rejudge.models.safe_text import markdown as escaped
from rejudge.models.safe_text import markdown_name as named
from rejudge.report.wording import (
    MARKS,
    NONE,
    Row,
    by_urgency,
    headline,
    mark,
    member_names,
    power_line,
    table_rows,
)

FLIPS = 20
"""Flips listed for one metric; the rest are counted."""

TEXT = 200
"""Characters of one recorded text."""


def markdown_report(comparison: Comparison, context: ReportContext | None = None, *, limit: int = 200) -> str:
    """The verdicts, the paired table, the flips and what is missing.

    Args:
        context: What was changed, what it cost.
        limit: Lines of the table.
    """
    about, names = context or ReportContext(), member_names(comparison)
    parts = [
        f"## {escaped(about.title)}: {headline(comparison)}",
        _about(comparison, about, names),
        markdown_table(comparison, limit=limit),
        *(_metric(metric, names) for metric in by_urgency(comparison)),
        _ledger(about.ledger),
        _foot(comparison, about),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_table(comparison: Comparison, *, limit: int = 200) -> str:
    """The paired table alone."""
    rows = table_rows(comparison)
    heads = ("", "metric", "statistic", "baseline", "replay", "difference", "interval", "p", "pairs", "verdict")
    lines = [_line(heads), "|" + "|".join(["---"] * 3 + ["---:"] * 6 + ["---"]) + "|"]
    lines += [_line(_cells(row)) for row in rows[:limit]]
    if len(rows) > limit:
        lines.append(f"\n{len(rows) - limit} more lines are not shown.")
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        MARKS[row.verdict],
        named(row.metric),
        f"{row.statistic}, {row.better}",
        row.baseline,
        row.replay,
        row.difference,
        row.interval,
        row.p_value,
        row.coverage,
        f"**{row.verdict}**",
    )


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _about(comparison: Comparison, context: ReportContext, names: Mapping[str, str]) -> str:
    facts = [
        ("experiment", context.experiment),
        ("change", context.change),
        ("agent", context.agent),
        ("cohort", context.cohort),
    ]
    lines = [f"- {label}: {escaped(text, limit=TEXT)}" for label, text in facts if text]
    lines.append(f"- sessions: {len(comparison.members)}, each against its own replay")
    stop = comparison.stopping
    if stop is not None and stop.stopped_at is not None:
        last = named(names.get(stop.stopped_at, stop.stopped_at))
        lines.append(
            f"- stopped early ({stop.reason}) after {stop.after} of {stop.total} sessions, at {last}; "
            f"p = {stop.p_value:.4g} holds at every look, the intervals were made for a fixed n and are secondary"
        )
    return "\n".join(lines)


def _metric(metric: MetricComparison, names: Mapping[str, str]) -> str:
    lines = [f"**{mark(metric.verdict)}** {named(metric.metric.key)}: {escaped(metric.verdict.reason)}"]
    if metric.verdict.word == "inconclusive":
        for figure in metric.figures[:1]:
            power = power_line(figure.power, rate=figure.statistic != "mean")
            lines += [f"- {power}"] if power else []
    lines += [_flip(flip, names) for flip in metric.flips[:FLIPS]]
    if len(metric.flips) > FLIPS:
        lines.append(f"- and {len(metric.flips) - FLIPS} more flips")
    lines += [
        f"- missing: {named(names.get(one.member, one.member))} ({one.side}"
        + (f", trial {one.trial}" if one.trial is not None else "")
        + f"): {escaped(one.reason, limit=TEXT)}"
        for one in metric.missing[:FLIPS]
    ]
    if len(metric.missing) > FLIPS:
        lines.append(f"- and {len(metric.missing) - FLIPS} more missing")
    head, *items = lines
    return f"{head}\n\n" + "\n".join(items) if items else head


def _flip(flip: Flip, names: Mapping[str, str]) -> str:
    sides = f"{escaped(flip.baseline, limit=TEXT)} → {escaped(flip.replay, limit=TEXT)}"
    reasons = [
        f"{side}: {escaped(text, limit=TEXT)}"
        for side, text in (("was", flip.baseline_explanation), ("is", flip.replay_explanation))
        if text
    ]
    return f"- {flip.kind}: {named(names.get(flip.member, flip.member))} {sides}" + (
        f" ({'; '.join(reasons)})" if reasons else ""
    )


def _ledger(entries: Sequence[LedgerEntry]) -> str:
    if not entries:
        return ""
    lines = [_line(("cost and time", "count", "US dollars", "priced", "seconds")), "|---|---:|---:|---|---:|"]
    for entry in entries:
        cost = NONE if entry.cost is None else f"{entry.cost:.4f}"
        seconds = NONE if entry.seconds is None else f"{entry.seconds:.1f}"
        lines.append(_line((escaped(entry.label), str(entry.count), cost, entry.priced, seconds)))
    return "\n".join(lines)


def _foot(comparison: Comparison, context: ReportContext) -> str:
    run = f"run {named(context.run_id)}, " if context.run_id else ""
    level = f"{(1 - comparison.alpha) * 100:g} %"
    return f"_{run}{level} intervals, margin {comparison.margin:g}, seed {comparison.seed}_"
