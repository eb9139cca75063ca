"""A calibration and a back-test in words: on the terminal, in Markdown, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rejudge.models.calibration import BackTest, Calibration, Confusion
from rejudge.models.canonical import JsonValue
from rejudge.models.comparison import Estimate, Flip
from rejudge.models.safe_text import markdown as escaped
from rejudge.models.safe_text import markdown_name as named
from rejudge.models.safe_text import one_line
from rejudge.report.wording import NONE, difference, interval, number

DISAGREEMENTS: Final = 20
"""Disagreeing sessions that are shown; the rest are counted."""

TEXT: Final = 200

Line = tuple[str, str, str, str]
"""Name, figure, interval, n."""


def calibration_lines(calibration: Calibration) -> list[Line]:
    """Every figure that there is, in reading order."""
    rates = [
        ("agreement", calibration.agreement),
        ("sensitivity", calibration.sensitivity),
        ("specificity", calibration.specificity),
    ]
    others = [
        ("Cohen's kappa", calibration.kappa),
        ("Gwet's AC1", calibration.ac1),
        ("PABAK", calibration.pabak),
        ("Pearson", calibration.pearson),
        ("Spearman", calibration.spearman),
        ("mean absolute error", calibration.mean_absolute_error),
        ("bias", calibration.bias),
        ("Krippendorff's alpha, among people", calibration.alpha),
    ]
    lines = [_line(name, one, rate=True) for name, one in rates if one is not None]
    lines += [_line(name, one, rate=False) for name, one in others if one is not None]
    if calibration.mcc is not None:
        lines.append(("Matthews' correlation", number(calibration.mcc, rate=False), NONE, str(calibration.n)))
    for rate in calibration.corrected:
        lines.append(_line(f"rate as people would have it, {rate.rate.method}", rate.rate, rate=True))
    return lines


def calibration_terminal(calibration: Calibration) -> RenderableType:
    """The figures, the confusion and the disagreeing sessions, as something `rich` prints."""
    head = Text(
        one_line(f"{calibration.metric.key} against {calibration.label}: {_counted(calibration)}"), style="bold"
    )
    parts: list[RenderableType] = [head, _table(("", "figure", "interval", "n"), calibration_lines(calibration))]
    if calibration.confusion is not None:
        heads, rows = _confusion_rows(calibration.confusion)
        parts += [Text("\nlabel (rows), evaluator (columns)"), _table(heads, rows)]
    parts += [Text(one_line(f"  {told}", limit=TEXT)) for told in _told(calibration.disagreements)]
    return Group(*parts)


def calibration_markdown(calibration: Calibration) -> str:
    """The same as Markdown."""
    title = f"## {named(calibration.metric.key)} against {escaped(calibration.label)}: {_counted(calibration)}"
    parts = [title, _markdown_table(("", "figure", "interval", "n"), calibration_lines(calibration))]
    if calibration.confusion is not None:
        heads, rows = _confusion_rows(calibration.confusion)
        parts.append(_markdown_table(("label \\ evaluator", *heads[1:]), rows))
    parts.append("\n".join(f"- {escaped(told, limit=2 * TEXT)}" for told in _told(calibration.disagreements)))
    return "\n\n".join(part for part in parts if part) + "\n"


def back_test_markdown(test: BackTest) -> str:
    """Old against new as Markdown."""
    rate = test.agreement is not None
    figures = [("agreement of old and new", test.agreement, True)]
    figures += [
        (f"headline of {test.old.key}", test.old_headline, rate),
        (f"headline of {test.new.key}", test.new_headline, rate),
    ]
    lines = [_line(name, one, rate=as_rate) for name, one, as_rate in figures if one is not None]
    if test.difference is not None:
        moved = difference(test.difference.value, rate=rate), interval(test.difference, rate=rate)
        lines.append(("difference", *moved, str(test.difference.n)))
    for name, one in (("old", test.old_calibration), ("new", test.new_calibration)):
        if one is not None and one.kappa is not None:
            lines.append(_line(f"kappa of the {name} version against {one.label}", one.kappa, rate=False))
    title = (
        f"## {named(test.new.key)} against {named(test.old.key)}: {test.n} of {test.total} sessions scored by both"
    )
    flips = "\n".join(f"- {escaped(told, limit=2 * TEXT)}" for told in _told(test.flips))
    return (
        "\n\n".join(part for part in (title, _markdown_table(("", "figure", "interval", "n"), lines), flips) if part)
        + "\n"
    )


def calibration_document(calibration: Calibration) -> dict[str, JsonValue]:
    """The same as JSON."""
    return {"key": calibration.metric.key, **calibration.model_dump(mode="json")}


def _counted(calibration: Calibration) -> str:
    told = [f"{calibration.n} sessions compared"]
    told += [f"{calibration.unscored} labelled but unscored"] if calibration.unscored else []
    told += [f"{calibration.other_fingerprints} of another fingerprint"] if calibration.other_fingerprints else []
    return ", ".join(told)


def _line(name: str, estimate: Estimate, *, rate: bool) -> Line:
    shown = interval(estimate, rate=rate, signed=False)
    return name, number(estimate.value, rate=rate), shown, str(estimate.n)


def _confusion_rows(confusion: Confusion) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    rows = [(label, *map(str, counts)) for label, counts in zip(confusion.labels, confusion.counts, strict=True)]
    return ("", *confusion.labels), rows


def _told(flips: Sequence[Flip]) -> list[str]:
    told = [_sentence(flip) for flip in flips[:DISAGREEMENTS]]
    return told + ([f"and {len(flips) - DISAGREEMENTS} more"] if len(flips) > DISAGREEMENTS else [])


def _sentence(flip: Flip) -> str:
    sides = [
        f"{said} ({why})" if why else said
        for said, why in ((flip.baseline, flip.baseline_explanation), (flip.replay, flip.replay_explanation))
    ]
    return f"session {flip.member}: {sides[0]} → {sides[1]}"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        table.add_column(Text(one_line(head)), justify="left" if place == 0 else "right")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(escaped(head) for head in heads) + " |"]
    lines.append("|---|" + "---:|" * (len(heads) - 1))
    return "\n".join([*lines, *("| " + " | ".join(escaped(cell) for cell in row) + " |" for row in rows)])
