"""`rejudge replay`: run an agent again on a recorded session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.changing import change_options
from rejudge.cli.choosing import evaluator_options
from rejudge.cli.groups import NounGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.cli.progress import bar
from rejudge.cli.replay_facts import document_of, show_replay

if TYPE_CHECKING:
    from rejudge.cli.changing import Change
    from rejudge.models.requests import EvaluatorChoice

_COLUMNS: dict[str, Callable[[Any], object]] = {
    "no.": lambda one: one.number,
    "session": lambda one: one.baseline_session_id,
    "agent": lambda one: f"{one.agent}@{one.agent_version}",
    "status": lambda one: one.status,
    "result": lambda one: one.result_session_id,
    "why": lambda one: one.error,
}


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
        with bar(output, "replaying") as move:
            report = store.replays.run(
                request, ephemeral=ephemeral, say=output.note, progress=lambda now: move(now.done, now.total)
            )
        if output.as_json:
            scorings = report.scorings.facts() if report.scorings is not None else None
            output.document({**document_of(report.replay), "created": report.created, "scorings": scorings})
        else:
            show_replay(output, store, report.replay)
            if report.scorings is not None:
                click.echo(report.scorings.sentence)
    if not report.created:
        output.note("the same replay was there already; --again makes another")
    return report.exit_code


@replay.command("list")
@click.option("--session", metavar="SESSION", help="Replays of this session.")
@output_options
def list_(output: Output, *, session: str | None) -> None:
    """List replays."""
    with opened() as store:
        rows = store.replays.list(session=session)
    output.items([document_of(one) for one in rows] if output.as_json else rows, _COLUMNS)


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
