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
    with opened() as store, bar(output, "replaying") as move:
        report = store.replays.run(
            request, ephemeral=ephemeral, say=output.note, progress=lambda now: move(now.done, now.total)
        )
    if output.as_json:
        scorings = report.scorings.facts() if report.scorings is not None else None
        output.document({**_document(report.replay), "created": report.created, "scorings": scorings})
    else:
        _show(output, report.replay)
        if not report.created:
            output.note("the same replay was there already; --again makes another")
        if report.scorings is not None:
            click.echo(report.scorings.sentence)
    return report.exit_code


@replay.command("list")
@click.option("--session", metavar="SESSION", help="Replays of this session.")
@output_options
def list_(output: Output, *, session: str | None) -> None:
    """List replays."""
    with opened() as store:
        rows = store.replays.list(session=session)
    output.items([_document(one) for one in rows] if output.as_json else rows, _COLUMNS)


@replay.command()
@click.argument("reference", metavar="REPLAY")
@output_options
def show(output: Output, *, reference: str) -> None:
    """Show what a replay was asked, and what came of it: fidelity and the first divergence."""
    with opened() as store:
        found = store.replays.get(reference)
    if output.as_json:
        output.document(_document(found))
    else:
        _show(output, found)


def _show(output: Output, found: Any) -> None:
    result = found.result or {}
    fidelity = result.get("fidelity") or {}
    miss = result.get("miss") or {}
    divergence = result.get("divergence") or {}
    answered = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in fidelity.items() if count)
    lines = (
        ("replay", found.number),
        ("of session", found.baseline_session_id),
        ("result", found.result_session_id),
        ("agent", f"{found.agent}@{found.agent_version}"),
        ("status", found.status),
        ("why", found.error),
        ("missed call", f"{miss['name']}: {miss['reason']}" if miss else None),
        ("answered", answered or None),
        ("divergence", divergence.get("message") or ("none" if found.status == "completed" else None)),
        ("applied", result.get("applied") or None),
    )
    output.item(found, lines)


def _document(one: Any) -> dict[str, Any]:
    names = (
        "id",
        "number",
        "baseline_session_id",
        "result_session_id",
        "experiment_run_id",
        "agent",
        "agent_version",
    )
    rest = ("trial", "plan", "status", "error", "result", "created_at", "started_at", "ended_at", "flow_run_id")
    return {name: getattr(one, name) for name in (*names, *rest)}
