"""A comparison as one HTML file that needs nothing else: no script runs in it, nothing is fetched."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

import jinja2
from markupsafe import Markup

from rejudge.errors import UsageError
from rejudge.models.comparison import Comparison, Flip, MetricComparison, Missing, Pair
from rejudge.models.gate import GateResult
from rejudge.models.report import ReportContext
from rejudge.models.safe_text import plain
from rejudge.report import gate as gate_words
from rejudge.report import wording
from rejudge.report.interval_plot import difference_plot, overview_plot, side_plot

FLIPS: Final = 100
"""Flips shown for one metric; all are in the embedded figures."""

MOVES: Final = 10
"""Largest moves of a number that are shown."""

TEXT: Final = 4_000
"""Characters of one recorded text."""

_DATA: Final = re.compile(r'<script type="application/json" id="comparison">(.*?)</script>', re.DOTALL)


def html_report(
    comparison: Comparison, context: ReportContext | None = None, *, gate: GateResult | None = None
) -> str:
    """The whole report. Recorded text is escaped; the figures with all their ids are embedded as data."""
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            comparison=comparison,
            context=context or ReportContext(),
            gate=gate,
            metrics=wording.by_urgency(comparison),
            overall=wording.overall(comparison),
            names=wording.member_names(comparison),
            data=_as_data(comparison),
        )
    )


def embedded(report: str) -> Comparison:
    """The comparison that a report was made from.

    Raises:
        UsageError: Where the text is no report of ours.
    """
    found = _DATA.search(report)
    if found is None:
        raise UsageError("no comparison is embedded in this file", mend="give the HTML file that a run wrote")
    try:
        return Comparison.model_validate_json(found[1])
    except ValueError as error:
        raise UsageError("the embedded comparison cannot be read", mend="make the report again") from error


def grouped(missing: Sequence[Missing]) -> list[tuple[str, str, list[Missing]]]:
    """What is missing, by side and reason, the most frequent first."""
    groups: dict[tuple[str, str], list[Missing]] = {}
    for one in missing:
        groups.setdefault((one.side, one.reason), []).append(one)
    return [(*key, group) for key, group in sorted(groups.items(), key=lambda item: -len(item[1]))]


def largest_moves(metric: MetricComparison, limit: int = MOVES) -> list[tuple[Pair, float]]:
    """The members whose number moved most, with how far."""
    moves = [
        (pair, pair.replay - pair.baseline)
        for pair in metric.pairs
        if pair.baseline is not None and pair.replay is not None and pair.replay != pair.baseline
    ]
    return sorted(moves, key=lambda move: -abs(move[1]))[:limit]


def worst_first(flips: Sequence[Flip]) -> list[Flip]:
    """The flips that are shown: worse ones before changed ones before better ones."""
    rank: Mapping[str, int] = {"worse": 0, "changed": 1, "better": 2}
    return sorted(flips, key=lambda flip: rank[flip.kind])[:FLIPS]


@cache
def environment() -> jinja2.Environment:
    """The templates of this room: every text on its way into a page is made harmless, then escaped."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("rejudge.report"),
        autoescape=True,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.globals |= {
        "difference_plot": difference_plot,
        "gate_words": gate_words,
        "grouped": grouped,
        "largest_moves": largest_moves,
        "overview_plot": overview_plot,
        "side_plot": side_plot,
        "words": wording,
        "worst_first": worst_first,
    }
    return made


def _safe(value: object) -> object:
    """Every text on its way into the page, before it is escaped."""
    return plain(value, limit=TEXT) if isinstance(value, str) and not isinstance(value, Markup) else value


def _as_data(comparison: Comparison) -> Markup:
    """The comparison as JSON in which nothing can end the element that holds it."""
    text = json.dumps(comparison.model_dump(mode="json"), separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))
