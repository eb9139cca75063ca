"""`rejudge replay`: run an agent again on a recorded session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.changing import change_options
from rejudge.cli.choosing import evaluator_options
from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, say_handed_over
from rejudge.cli.progress import bar
from rejudge.cli.replay_facts import document_of, show_replay

if TYPE_CHECKING:
    from rejudge.cli.changing import Change
    from rejudge.models.requests import EvaluatorChoice

_STATUSES = ("pending", "running", "completed", "failed", "timed_out", "crashed", "canceled")


@click.group(cls=NounGroup)
def replay() -> None:
    """Run an agent again on a session's inputs: unchanged, or as a fork."""


@replay.command()
@click.argument("session", metavar="SESSION")
@evaluator_options(required=False)
@change_options
@click.option("--agent", metavar="NAME@V", help="Another agent version. [default: the session's agent, latest]")
@click.option("--trial", type=click.IntRange(min=0), default=0, metavar="N", help="A repetition of its own.")
@click.option("--again", is_flag=True, help="Although the same replay is there.")
@click.option("--detach", is_flag=True, help="Hand it to the served deployment, and do not wait.")
@click.option("--ephemeral", is_flag=True, help="No background server: Prefect's temporary one.")
@output_options
def run(
    output: Output,
    *,
    session: str,
    evaluators: tuple[EvaluatorChoice, ...],
    change: Callable[[], Change],
    agent: str | None,
    trial: int,
    again: bool,
    detach: bool,
    ephemeral: bool,
) -> int:
    """Replay a session, judge the result, and wait.

    Told nothing, tools are answered from the recording and no real one is touched; a call that was not recorded ends
    the replay. Policies: passthrough, history, history(agent, on_miss=error_result), llm(MODEL), or JSON.
    """
    from rejudge.models.requests import ReplayRequest

    chosen = change()
    request = ReplayRequest(
        session=session,
        agent=agent,
        override=chosen.override,
        policies=chosen.policies,
        fork_point=chosen.fork_point,
        evaluators=evaluators,
        trial=trial,
        again=again,
    )
    with opened() as store:
        if detach:
            from rejudge.tasks.runs import hand_over_replay

            return say_handed_over(output, hand_over_replay(store.database, request))
        with bar(output, "replaying") as move:
            report = store.replays.run(
                request, ephemeral=ephemeral, say=output.note, progress=lambda now: move(now.done, now.total)
            )
        if output.as_json:
            scorings = report.scorings.facts() if report.scorings is not None else None
            more = {"created": report.created, "scorings": scorings, "url": report.url}
            output.document({**document_of(report.replay), **more})
        else:
            show_replay(output, store, report.replay)
            if report.scorings is not None:
                click.echo(report.scorings.sentence)
            if report.url:
                output.note(f"the run: {report.url}")
    if not report.created:
        output.note("the same replay was there already; --again makes another")
    return report.exit_code


@replay.command("list")
@click.option("--session", metavar="SESSION", help="Replays of this session.")
@click.option("--run", metavar="NAME@N", help="Replays of this run of an experiment.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only those.")
@output_options
def list_(output: Output, *, session: str | None, run: str | None, status: str | None) -> None:
    """List replays."""
    with opened() as store:
        run_id = store.experiments.get_run(run).id if run is not None else None
        found = store.replays.list(session=session, experiment_run_id=run_id)
        rows = [one for one in found if status in (None, one.status)]
        if output.as_json:
            output.items([document_of(one) for one in rows], {})
            return
        from rejudge.store.selecting import session_numbers

        named = (name for one in rows for name in (one.baseline_session_id, one.result_session_id) if name)
        output.items(rows, _columns(session_numbers(store.database, named)))


@replay.command()
@click.argument("reference", metavar="REPLAY")
@output_options
def show(output: Output, *, reference: str) -> None:
    """Show what a replay was asked, and what came of it: lineage, fidelity, the first divergence, what missed."""
    with opened() as store:
        found = store.replays.get(reference)
        if output.as_json:
            output.document(document_of(found))
        else:
            show_replay(output, store, found)


def _columns(numbers: Mapping[str, int]) -> dict[str, Callable[[Any], object]]:
    from rejudge.api.experimenting import change_line

    return {
        "no.": lambda one: one.number,
        "session": lambda one: numbers.get(one.baseline_session_id),
        "agent": lambda one: f"{one.agent}@{one.agent_version}",
        "changes": lambda one: (
            change_line({**one.plan, "fork_point": None}) + (", from a node" if one.plan.get("fork_point") else "")
        ),
        "trial": lambda one: one.trial,
        "status": lambda one: one.status.replace("_", " "),
        "result": lambda one: numbers.get(one.result_session_id),
        "why": lambda one: one.error,
    }
