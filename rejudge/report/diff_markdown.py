"""Two sessions side by side in Markdown: the artifact on a replay's page. Everything recorded is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rejudge.models.safe_text import markdown as escaped
from rejudge.models.session_diff import SessionDiff
from rejudge.report import diff_words as words

_ROWS: Final = 60
_CELL: Final = 300
_DIFFERENCES: Final = 4


def markdown_diff(diff: SessionDiff) -> str:
    """The steps that differ and those around them, as a table; the first difference in bold."""
    lines = [
        f"### {escaped(words.headline(diff), limit=2 * _CELL)}",
        "",
        f"Baseline: {escaped(words.side_name(diff.baseline))}  ",
        f"Replay: {escaped(words.side_name(diff.replay))}  ",
        escaped(words.summary(diff)),
        "",
        "| step | | call | baseline | replay |",
        "|---:|---|---|---|---|",
    ]
    shown = list(words.folded(words.rows(diff)))
    lines += [_gap(one) if isinstance(one, words.Gap) else _line(one) for one in shown[:_ROWS]]
    if len(shown) > _ROWS:
        left = sum(one.count if isinstance(one, words.Gap) else 1 for one in shown[_ROWS:])
        lines.append(f"| | | and {left} more: `rejudge session diff` | | |")
    if not diff.same_output:
        was, now = words.excerpts(*words.output_texts(diff), limit=_CELL)
        lines.append(f"| | {words.MARKS['changed']} | **output** | {escaped(was)} | {escaped(now)} |")
    return "\n".join(lines) + "\n"


def _gap(gap: words.Gap) -> str:
    return f"| | | … {gap.count} the same | | |"


def _line(row: words.Row) -> str:
    label = escaped(row.label, limit=_CELL)
    call = f"**▶ {label}**" if row.first else label
    was, now = zip(*_cells(row), strict=True)
    return f"| {row.number} | {words.MARKS[row.step.state]} | {call} | {'<br>'.join(was)} | {'<br>'.join(now)} |"


def _cells(row: words.Row) -> Iterator[tuple[str, str]]:
    """Pairs of cells: what differs, else what was called."""
    step = row.step
    if step.state == "changed" and step.differences:
        for one in step.differences[:_DIFFERENCES]:
            path, *sides = words.difference_text(one)
            was, now = words.excerpts(*sides, limit=_CELL)
            yield f"{escaped(path)}: {escaped(was)}", f"{escaped(path)}: {escaped(now)}"
    elif step.state == "result":
        was, now = words.excerpts(words.result_text(step.baseline), words.result_text(step.replay), limit=_CELL)
        yield f"→ {escaped(was)}", f"→ {escaped(now)}"
    elif step.state == "same":
        yield escaped(words.arguments_text(step.replay), limit=_CELL), ""
    else:
        was, now = (escaped(words.arguments_text(one), limit=_CELL) for one in (step.baseline, step.replay))
        yield was, now
