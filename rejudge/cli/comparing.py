"""A comparison on its way out: the terminal, JSON, files, and a gate's exit code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.output import Output, require_writable, show_rich, write_file
from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.api import Store
    from rejudge.models.comparison import Comparison
    from rejudge.models.gate import Gate, GateResult
    from rejudge.store.experiments import ExperimentRun

_FILE = click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to compare, and where the result is to go."""

    margin: float
    alpha: float
    seed: int
    gate_file: Path | None
    html: Path | None
    markdown: Path | None
    junit: Path | None

    @property
    def options(self) -> dict[str, Any]:
        """How to compare."""
        return {"margin": self.margin, "alpha": self.alpha, "seed": self.seed}

    @property
    def files(self) -> list[Path]:
        """The reports to write."""
        return [path for path in (self.html, self.markdown, self.junit) if path is not None]

    def gate(self) -> Gate | None:
        """The gate that was named, read and checked; None where none was.

        Raises:
            UsageError: Where it makes no sense, before anything runs.
        """
        if self.gate_file is None:
            if self.junit is not None:
                raise UsageError("--junit reports a gate's rules, and there is no gate", mend="name one with --gate")
            return None
        from rejudge.compare.gate_file import load_gate

        return load_gate(self.gate_file)


def compare_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command what a comparison can be told; it is called with ``wishes=``."""

    @click.option(
        "--margin",
        type=click.FloatRange(min=0),
        default=0.0,
        metavar="X",
        help="Differences up to this do not matter.",
    )
    @click.option(
        "--alpha",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        default=0.05,
        show_default=True,
        help="Chance of a false alarm.",
    )
    @click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap.")
    @click.option(
        "--gate", "gate_file", type=_FILE, metavar="FILE.toml", help="Decide by these rules: exit 0, 1 or 3."
    )
    @click.option("--html", type=_FILE, metavar="FILE", help="Write the whole report there.")
    @click.option("--markdown", type=_FILE, metavar="FILE", help="Write it as Markdown there.")
    @click.option("--junit", type=_FILE, metavar="FILE", help="Write the gate's rules as JUnit XML there.")
    @functools.wraps(command)
    def with_wishes(
        *args: Any,
        margin: float,
        alpha: float,
        seed: int,
        gate_file: Path | None,
        html: Path | None,
        markdown: Path | None,
        junit: Path | None,
        **kwargs: Any,
    ) -> Any:
        wishes = Wishes(margin, alpha, seed, gate_file, html, markdown, junit)
        for path in wishes.files:
            require_writable(path)
        return command(*args, wishes=wishes, **kwargs)

    return with_wishes


def show_comparison(
    output: Output,
    store: Store,
    run: ExperimentRun,
    wishes: Wishes,
    gate: Gate | None,
    *,
    judged: tuple[Comparison, GateResult | None] | None = None,
    beside: Mapping[str, Any] | None = None,
) -> int:
    """Compare a run, show it, write what was asked for; the exit code of the gate, 0 where there is none.

    Args:
        judged: The comparison and what became of the gate, where they were made a moment ago.
        beside: What else the JSON holds.
    """
    from rejudge.api.reporting import report_context
    from rejudge.report.document import document

    comparison, result = judged or _judged(store, run, wishes, gate)
    context = report_context(store.database, run, comparison)
    if output.as_json:
        facts: dict[str, Any] = {"run": run.reference, **document(comparison), **(beside or {})}
        if result is not None:
            from rejudge.report.gate import gate_document

            facts["gate"] = gate_document(result)
        output.document(facts)
    else:
        _print(comparison, result)
    if wishes.html is not None:
        from rejudge.report.html import html_report

        write_file(output, wishes.html, html_report(comparison, context, gate=result))
    if wishes.markdown is not None:
        from rejudge.report.markdown import markdown_report

        told = markdown_report(comparison, context)
        if result is not None:
            from rejudge.report.gate import gate_markdown

            told = f"{gate_markdown(result)}\n{told}"
        write_file(output, wishes.markdown, told)
    if wishes.junit is not None and result is not None:
        from rejudge.report.junit import junit_xml

        write_file(output, wishes.junit, junit_xml(result, name=run.reference))
    return result.exit_code if result is not None else 0


def _judged(store: Store, run: ExperimentRun, wishes: Wishes, gate: Gate | None) -> tuple[Any, Any]:
    options = wishes.options
    if gate is None:
        return store.experiments.compare(run.reference, **options), None
    from rejudge.api.comparing import judge_run

    return judge_run(store.database, run, gate, **options)


def _print(comparison: Any, result: Any) -> None:
    from rejudge.report.terminal import terminal_report

    show_rich(terminal_report(comparison))
    if result is not None:
        from rejudge.report.gate import gate_headline, gate_table

        click.echo()
        show_rich(gate_table(result))
        click.echo(gate_headline(result))
