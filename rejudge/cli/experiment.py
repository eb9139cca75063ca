"""`rejudge experiment`: a named change, run over a cohort, compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.changing import change_options
from rejudge.cli.choosing import evaluator_options
from rejudge.cli.comparing import compare_options, show_comparison
from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, say_handed_over
from rejudge.cli.progress import bar
from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.cli.changing import Change
    from rejudge.cli.comparing import Wishes
    from rejudge.models.requests import EvaluatorChoice

_COLUMNS: dict[str, Callable[[Any], object]] = {
    "experiment": lambda one: one["name"],
    "changes": lambda one: one["change"],
    "evaluators": lambda one: one["evaluators"],
    "runs": lambda one: one["runs"],
    "last verdict": lambda one: one["headline"],
}


@click.group(cls=NounGroup)
def experiment() -> None:
    """A named change: run it over a cohort, and compare."""


@experiment.command()
@click.argument("name", metavar="NAME")
@evaluator_options(required=True)
@change_options
@output_options
def create(
    output: Output, *, name: str, evaluators: tuple[EvaluatorChoice, ...], change: Callable[[], Change]
) -> None:
    """Name a change and what judges it; without a change it is an unchanged replay, which shows the noise."""
    chosen = change()
    with opened() as store:
        made = store.experiments.create(
            name,
            evaluators=evaluators,
            override=chosen.override,
            policies=chosen.policies,
            fork_point=chosen.fork_point,
        )
    output.result({"id": made.id, "name": made.name, "spec": made.spec}, f"experiment {made.name}")


@experiment.command()
@click.argument("name", metavar="NAME")
@click.option("--cohort", required=True, metavar="NAME@V", help="The sessions to replay.")
@click.option("--agent", metavar="NAME@V", help="The agent version to run. [default: the cohort's agent, latest]")
@click.option("--trials", type=click.IntRange(min=1), default=1, show_default=True, help="Replays of each session.")
@compare_options
@click.option("--detach", is_flag=True, help="Hand it to the served deployment, and do not wait.")
@click.option("--ephemeral", is_flag=True, help="No background server: Prefect's temporary one.")
@output_options
def run(
    output: Output,
    *,
    name: str,
    cohort: str,
    agent: str | None,
    trials: int,
    wishes: Wishes,
    detach: bool,
    ephemeral: bool,
) -> int:
    """Replay a cohort under an experiment's change, judge both sides, compare, and wait.

    A run that was interrupted is taken up where it was.
    """
    from rejudge.models.requests import ExperimentRequest

    gate = wishes.gate()
    if detach and wishes.files:
        raise UsageError(
            "--detach does not wait for a report",
            mend="write it afterwards: rejudge experiment compare NAME --html FILE",
        )
    request = ExperimentRequest.model_validate(
        {"experiment": name, "cohort": cohort, "agent": agent, "trials": trials, "gate": gate, **wishes.options}
    )
    with opened() as store:
        if detach:
            from rejudge.tasks.runs import hand_over_experiment

            return say_handed_over(output, hand_over_experiment(store.database, request))
        with bar(output, "replaying") as move:
            report = store.experiments.run(
                request, ephemeral=ephemeral, say=output.note, progress=lambda now: move(now.done, now.total)
            )
        from rejudge.cli.experiment_members import members_document, say_what_is_missing

        say_what_is_missing(output, store, report)
        judged = (report.comparison, report.gate)
        show_comparison(output, store, report.run, wishes, gate, judged=judged, beside=members_document(report))
    return report.exit_code


@experiment.command()
@click.argument("reference", metavar="RUN")
@compare_options
@output_options
def compare(output: Output, *, reference: str, wishes: Wishes) -> int:
    """Compare both sides of a run (NAME@N, NAME@latest), out of what is stored; with a gate, decide."""
    gate = wishes.gate()
    with opened() as store:
        return show_comparison(output, store, store.experiments.get_run(reference), wishes, gate)


@experiment.command("list")
@output_options
def list_(output: Output) -> None:
    """List experiments."""
    with opened() as store:
        from rejudge.api.experimenting import change_line

        runs = store.experiments.runs()
        rows = []
        for one in store.experiments.list():
            mine = [each for each in runs if each.experiment == one.name]
            rows.append(
                {
                    "id": one.id,
                    "name": one.name,
                    "change": change_line(one.spec["change"]),
                    "evaluators": [choice["evaluator"] for choice in one.spec["evaluators"]],
                    "runs": len(mine),
                    "headline": (mine[-1].summary or {}).get("headline") if mine else None,
                    "created_at": one.created_at,
                }
            )
    output.items(rows, _COLUMNS)


@experiment.command()
@click.argument("name", metavar="NAME")
@output_options
def show(output: Output, *, name: str) -> None:
    """Show an experiment and its runs."""
    from rejudge.api.experimenting import change_line
    from rejudge.store.experiments import find_experiment

    with opened() as store:
        found = find_experiment(store.database, name.partition("@")[0])
        runs = store.experiments.runs(found.name)
    if output.as_json:
        output.document({"id": found.id, "name": found.name, "spec": found.spec, "runs": runs})
        return
    evaluators = [one["evaluator"] for one in found.spec["evaluators"]]
    output.item(found, (("experiment", found.name), ("changes", change_line(found.spec["change"]))))
    output.item(found, (("evaluators", evaluators),))
    columns: dict[str, Callable[[Any], object]] = {
        "run": lambda one: one.reference,
        "agent": lambda one: f"{one.agent}@{one.agent_version}",
        "status": lambda one: one.status,
        "verdict": lambda one: (one.summary or {}).get("headline"),
        "began": lambda one: one.created_at,
    }
    click.echo()
    output.items(runs, columns)
