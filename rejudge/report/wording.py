"""Figures in words: the same in Markdown, on the terminal, in HTML and in a table artifact."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from rejudge.models.comparison import (
    Comparison,
    Coverage,
    Estimate,
    Figure,
    MetricComparison,
    Power,
    Significance,
    Verdict,
    VerdictWord,
)

NONE: Final = "\N{EN DASH}"
ORDER: Final[tuple[VerdictWord, ...]] = (
    "regressed",
    "inconclusive",
    "changed",
    "improved",
    "equivalent",
    "unchanged",
)
"""Verdicts by how much they want to be read."""

MARKS: Final[dict[VerdictWord, str]] = {
    "regressed": "▼",
    "improved": "▲",
    "changed": "◆",
    "equivalent": "=",
    "unchanged": "=",
    "inconclusive": "?",
}
"""One sign a verdict, so that colour is never all that tells."""

_BETTER: Final = {"higher": "higher is better", "lower": "lower is better", "none": "no direction"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the paired table; every field is text, and none of it escaped."""

    metric: str
    statistic: str
    better: str
    baseline: str
    replay: str
    difference: str
    interval: str
    coverage: str
    verdict: VerdictWord
    reason: str
    p_value: str


def table_rows(comparison: Comparison) -> tuple[Row, ...]:
    """The paired table: one line a figure, what wants to be read first on top."""
    return tuple(row for metric in by_urgency(comparison) for row in metric_rows(metric))


def by_urgency(comparison: Comparison) -> list[MetricComparison]:
    """The metrics, regressions first, then by key."""
    return sorted(comparison.metrics, key=lambda one: (ORDER.index(one.verdict.word), one.metric.key))


def metric_rows(metric: MetricComparison) -> list[Row]:
    """The lines of one metric: its figures, or one line for what only changes."""
    figures = shown_figures(metric)
    if not figures:
        return [_textual(metric)]
    return [_row(metric, figure) for figure in figures]


def shown_figures(metric: MetricComparison) -> tuple[Figure, ...]:
    """The figures worth a line: not the mean behind labels that point nowhere, nor a repeated pass rate."""
    score, passes = metric.score, metric.pass_rate
    if metric.kind == "categorical" and score is not None and score.direction == "none":
        return () if passes is None else (passes,)
    if score is None or passes is None or metric.kind != "rate":
        return metric.figures
    repeats = (score.baseline, score.replay, score.difference) == (passes.baseline, passes.replay, passes.difference)
    return (passes,) if repeats else metric.figures


def _row(metric: MetricComparison, figure: Figure) -> Row:
    rate = figure.statistic != "mean"
    return Row(
        metric=metric.metric.key,
        statistic=figure.statistic,
        better=_BETTER[figure.direction],
        baseline=number(figure.baseline.value, rate=rate),
        replay=number(figure.replay.value, rate=rate),
        difference=difference(figure.difference.value, rate=rate),
        interval=interval(figure.difference, rate=rate),
        coverage=coverage(figure.coverage),
        verdict=figure.verdict.word,
        reason=figure.verdict.reason,
        p_value=p_value(figure.adjusted_p if figure.adjusted_p is not None else figure.p_value),
    )


def _textual(metric: MetricComparison) -> Row:
    moved = metric.changed
    return Row(
        metric=metric.metric.key,
        statistic={"categorical": "label", "none": "nothing scored"}.get(metric.kind, metric.kind),
        better=_BETTER[metric.direction],
        baseline=NONE,
        replay=NONE,
        difference=f"{number(moved.value, rate=True)} changed" if moved is not None else NONE,
        interval=interval(moved, rate=True, signed=False) if moved is not None else NONE,
        coverage=coverage(metric.coverage),
        verdict=metric.verdict.word,
        reason=metric.verdict.reason,
        p_value=NONE,
    )


def in_a_line(metric: MetricComparison) -> str:
    """What became of a metric: its figures, and why that is no verdict where it is none."""
    row = metric_rows(metric)[0]
    if row.baseline == NONE or row.replay == NONE:
        return metric.verdict.reason
    figures = f"{row.baseline} → {row.replay}, {row.difference} {row.interval}"
    return figures if row.verdict in ("regressed", "improved") else f"{figures}: {metric.verdict.reason}"


def member_names(comparison: Comparison) -> dict[str, str]:
    """What a person calls each member: its number where it has one."""
    return {
        member.id: f"session {member.number}" if member.number is not None else member.id
        for member in comparison.members
    }


def number(value: float | None, *, rate: bool) -> str:
    """A figure for reading: a percentage, or four significant digits."""
    if value is None:
        return NONE
    return f"{value * 100:.1f} %" if rate else _significant(value)


def difference(value: float | None, *, rate: bool) -> str:
    """A signed figure; percentage points for rates."""
    if value is None:
        return NONE
    if value == 0:
        return "0 pp" if rate else "0"
    text = f"{value * 100:+.1f} pp" if rate else ("+" if value >= 0 else "") + _significant(value)
    return text.replace("-", "\N{MINUS SIGN}", 1)


def interval(estimate: Estimate, *, rate: bool, signed: bool = True) -> str:
    """Both ends in brackets."""
    if estimate.low is None or estimate.high is None:
        return NONE
    show = difference if signed else number
    low, high = show(estimate.low, rate=rate), show(estimate.high, rate=rate)
    unit = " pp" if signed else " %"
    return f"[{low.removesuffix(unit)}, {high}]"


def coverage(counted: Coverage) -> str:
    """Scored of total."""
    return f"{counted.scored}/{counted.total}"


def p_value(value: float | None) -> str:
    """Three digits; below that, only that it is below."""
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def test_line(test: Significance) -> str:
    """One test in a line."""
    return f"{test.method} p = {test.p_value:.3g}, n = {test.n}"


test_line.__test__ = False  # type: ignore[attr-defined]  # its name would have pytest collect it


def power_line(power: Power | None, *, rate: bool) -> str:
    """What this n could have shown, and what it would take; empty where nothing can be said."""
    if power is None or power.minimum_detectable_effect is None:
        return ""
    chance = f"with {power.power:.0%} power"
    if rate and power.minimum_detectable_effect > 1:
        line = f"so few sessions find no difference {chance}"
    else:
        seen = number(power.minimum_detectable_effect, rate=rate).replace(" %", " pp")
        line = f"this many sessions find a difference of {seen} {chance}"
    if not power.more_sessions:
        return line
    return f"{line}; {power.more_sessions:,} more would settle the difference seen"


def headline(comparison: Comparison) -> str:
    """The verdicts of all metrics, counted, in one line."""
    words = Counter(metric.verdict.word for metric in comparison.metrics)
    if not words:
        return "nothing was compared"
    return ", ".join(f"{words[word]} {word}" for word in ORDER if words[word])


def overall(comparison: Comparison) -> VerdictWord:
    """The most urgent word among the metrics; ``inconclusive`` where there is none."""
    return by_urgency(comparison)[0].verdict.word if comparison.metrics else "inconclusive"


def mark(verdict: Verdict) -> str:
    """The verdict's sign and word."""
    return f"{MARKS[verdict.word]} {verdict.word}"


def _significant(value: float) -> str:
    if value == 0:
        return "0"
    text = f"{value:.4g}" if 1e-4 <= abs(value) < 1e6 else f"{value:.3e}"
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e6 else text
