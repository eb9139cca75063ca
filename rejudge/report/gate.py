"""A gate's result in words: on the terminal, in Markdown, as JSON."""

from __future__ import annotations

from collections import Counter
from typing import Final

from rich.table import Table
from rich.text import Text

from rejudge.models.canonical import JsonValue
from rejudge.models.gate import GateOutcome, GateResult, Rule, RuleResult
from rejudge.models.safe_text import markdown as escaped
from rejudge.models.safe_text import markdown_name as named
from rejudge.models.safe_text import one_line

SIGNS: Final[dict[GateOutcome, str]] = {"passed": "✓", "failed": "✗", "inconclusive": "?", "error": "!"}
"""One sign an outcome, so that colour is never all that tells."""

_COLOURS: Final[dict[GateOutcome, str]] = {
    "passed": "bold green",
    "failed": "bold red",
    "inconclusive": "yellow",
    "error": "bold magenta",
}

_WORDS: Final[dict[GateOutcome, str]] = {
    "passed": "passed",
    "failed": "failed",
    "inconclusive": "inconclusive",
    "error": "could not be judged",
}


def gate_headline(result: GateResult) -> str:
    """``gate failed: 1 failed, 2 passed``."""
    counts = Counter(one.outcome for one in result.results)
    told = ", ".join(
        f"{counts[word]} {word}" for word in ("failed", "error", "inconclusive", "passed") if counts[word]
    )
    return f"gate {_WORDS[result.outcome]}: {told or 'no rule'}"


def demand(rule: Rule) -> str:
    """The rule with its numbers: ``max-increase relative 0.1``."""
    options = ("margin", "value", "absolute", "relative", "label", "min_kappa", "min_labels")
    given = [(name, getattr(rule, name)) for name in options]
    told = [f"{name.replace('_', '-')} {value}" for name, value in given if value is not None]
    told += ["above-noise"] if rule.above_noise else []
    told += ["on point"] if rule.on == "point" else []
    return " ".join([rule.rule, *told])


def gate_table(result: GateResult) -> Table:
    """The rules for a terminal."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for head in ("", "metric", "rule", "outcome", "why"):
        table.add_column(head, overflow="fold")
    for one in result.results:
        style = _COLOURS[one.outcome]
        table.add_row(
            Text(SIGNS[one.outcome], style=style),
            Text(one_line(one.rule.metric)),
            Text(one_line(demand(one.rule))),
            Text(one.outcome, style=style),
            Text(one_line(one.reason)),
        )
    return table


def gate_markdown(result: GateResult) -> str:
    """The rules as Markdown, for a step summary or a comment."""
    lines = [
        f"## {SIGNS[result.outcome]} {gate_headline(result)}",
        "",
        "|  | metric | rule | outcome | why |",
        "|---|---|---|---|---|",
        *(_line(one) for one in result.results),
    ]
    return "\n".join(lines) + "\n"


def gate_document(result: GateResult) -> dict[str, JsonValue]:
    """The result as JSON."""
    return {
        "outcome": result.outcome,
        "exit_code": result.exit_code,
        "missing": result.missing,
        "items": [one.model_dump(mode="json") for one in result.results],
        "count": len(result.results),
    }


def _line(one: RuleResult) -> str:
    cells = (SIGNS[one.outcome], named(one.rule.metric), escaped(demand(one.rule)), one.outcome, escaped(one.reason))
    return "| " + " | ".join(cells) + " |"
