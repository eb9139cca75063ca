"""Two sessions side by side on the terminal, with rich: recorded text is shown, never obeyed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.text import Text

from rejudge.models.safe_text import one_line
from rejudge.models.session_diff import SessionDiff
from rejudge.report import diff_words as words

_COLOURS: Final = {"same": "dim", "changed": "yellow", "result": "magenta", "missing": "red", "extra": "green"}
_LONGEST: Final = 240
_DIFFERENCES: Final = 8
_LATER_DIFFERENCES: Final = 2
_INDENT: Final = " " * 7


def terminal_diff(diff: SessionDiff, *, whole: bool = False) -> RenderableType:
    """Both sessions as something `rich` prints; the first difference stands out.

    Args:
        whole: Show every equal step, too.
    """
    lines = [
        Text.assemble(("- ", "red"), one_line(words.side_name(diff.baseline), limit=_LONGEST)),
        Text.assemble(("+ ", "green"), one_line(words.side_name(diff.replay), limit=_LONGEST)),
        Text(),
    ]
    if not diff.same_inputs:
        lines += [Text("inputs differ", "yellow"), *_both(*words.input_texts(diff))]
    shown = words.rows(diff)
    for row in shown if whole else words.folded(shown):
        lines += [Text(f"     … {row.count} the same", "dim")] if isinstance(row, words.Gap) else _row(row)
    if not diff.same_output:
        only = diff.divergence is not None and diff.divergence.kind == "output"
        lines.append(Text("▶ output differs" if only else "  output differs", "bold yellow" if only else "yellow"))
        lines += _both(*words.output_texts(diff))
    lines += [Text(), Text(one_line(words.headline(diff)), "bold"), Text(words.summary(diff), "dim")]
    return Group(*lines)


def _row(row: words.Row) -> Iterator[Text]:
    step = row.step
    colour = _COLOURS[step.state]
    called = "" if step.state == "changed" else words.arguments_text(step.replay or step.baseline)
    yield Text.assemble(
        ("▶" if row.first else " ", "bold yellow"),
        f"{row.number:>3} ",
        (f"{words.MARKS[step.state]} {one_line(row.label, limit=80)}", f"bold {colour}" if row.first else colour),
        (f"  {one_line(called, limit=_LONGEST)}", "dim"),
    )
    if step.state == "changed":
        shown = step.differences[: _DIFFERENCES if row.first else _LATER_DIFFERENCES]
        for one in shown:
            path, was, now = words.difference_text(one)
            yield Text(f"{_INDENT}{one_line(path, limit=80)}", "dim")
            yield from _both(was, now)
        if len(step.differences) > len(shown):
            yield Text(f"{_INDENT}… {len(step.differences) - len(shown)} more", "dim")
    if step.state == "result" or (row.first and step.baseline is not None and step.replay is not None):
        was, now = words.result_text(step.baseline), words.result_text(step.replay)
        if was != now:
            yield Text(f"{_INDENT}returned", "dim")
            yield from _both(was, now)


def _both(was: str, now: str) -> Iterator[Text]:
    was, now = words.excerpts(was, now, limit=_LONGEST)
    yield Text(f"{_INDENT}- {one_line(was)}", "red")
    yield Text(f"{_INDENT}+ {one_line(now)}", "green")
