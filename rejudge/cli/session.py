"""`rejudge session`: recorded runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.groups import LazyGroup
from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, text
from rejudge.cli.selecting import required, selection_options
from rejudge.errors import UsageError

if TYPE_CHECKING:
    from rejudge.models.selection import Selection
    from rejudge.models.session import Node, Session, SessionView

_COLUMNS: dict[str, Callable[[Any], object]] = {
    "no.": lambda one: one.number,
    "agent": lambda one: one.agent,
    "status": lambda one: one.status,
    "started": lambda one: one.started_at,
    "seconds": lambda one: _seconds(one),
    "model calls": lambda one: one.llm_call_count,
    "tool calls": lambda one: one.tool_call_count,
    "cost": lambda one: one.cost,
    "tags": lambda one: one.tags or None,
    "id": lambda one: one.id,
}


@click.group(
    cls=LazyGroup,
    homes={
        "import": "rejudge.cli.session_import:import_",
        "list": "rejudge.cli.session:list_",
        "show": "rejudge.cli.session:show",
        "tree": "rejudge.cli.session_tree:tree",
        "diff": "rejudge.cli.session_diff:diff",
        "evaluate": "rejudge.cli.session_evaluate:evaluate",
        "tag": "rejudge.cli.session:tag",
        "export": "rejudge.cli.session_export:export",
    },
)
def session() -> None:
    """Recorded runs: import, look at, judge."""


@click.command("list")
@selection_options
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most this many.")
@click.option("--newest", is_flag=True, help="The newest first.")
@output_options
def list_(output: Output, *, selection: Callable[[], Selection | None], limit: int | None, newest: bool) -> None:
    """List sessions, all or the ones named."""
    chosen = selection()
    with opened() as store:
        from rejudge.store.selecting import list_sessions

        rows = list_sessions(store.database, chosen, limit=limit, newest_first=newest)
        output.items([document_of(one) if output.as_json else one for one in rows], _COLUMNS)


@click.command()
@click.argument("reference", metavar="SESSION")
@click.option("--inputs", is_flag=True, help="Only what the run was started with, as a replay would be.")
@click.option("--outputs", is_flag=True, help="Only its final answer.")
@click.option("--node", metavar="NODE", help="Only this node, by its place or id, with all that it holds.")
@click.option("--payloads", is_flag=True, help="With --json: each node's inputs and outputs too.")
@output_options
def show(output: Output, *, reference: str, inputs: bool, outputs: bool, node: str | None, payloads: bool) -> None:
    """Show one session and its nodes."""
    if inputs + outputs + (node is not None) > 1:
        raise UsageError("--inputs, --outputs and --node exclude each other", mend="name one of them")
    with opened() as store:
        view = store.sessions.get(reference)
    if inputs or outputs:
        output.document(_inputs(view) if inputs else view.session.outputs)
        return
    if node is not None:
        from rejudge.cli.session_node import show_node

        show_node(output, view, node)
        return
    if output.as_json:
        nodes = [_node(one, payloads=payloads) for one in view.nodes]
        output.document({**document_of(view.session), "nodes": nodes})
        return
    head = view.session
    lines = (
        ("session", f"{head.number}  {head.id}"),
        ("agent", head.agent),
        ("status", head.status),
        ("started", head.started_at),
        ("seconds", _seconds(head)),
        ("framework", head.framework),
        ("models", head.models or None),
        ("tokens", _tokens(head)),
        ("cost", f"{text(head.cost)} ({head.cost_status})" if head.cost is not None else None),
        ("error", head.error),
        ("tags", head.tags or None),
        ("inputs", _short(head.inputs)),
        ("outputs", _short(head.outputs)),
    )
    output.item(head, lines)
    click.echo()
    output.items(view.nodes, _NODE_COLUMNS)


@click.command()
@selection_options
@click.option("--add", "tags", multiple=True, required=True, metavar="TAG", help="Repeat for several.")
@output_options
def tag(output: Output, *, selection: Callable[[], Selection | None], tags: tuple[str, ...]) -> None:
    """Put tags on sessions."""
    chosen = required(selection())
    with opened() as store:
        count = store.sessions.tag(chosen, *tags)
    output.result({"sessions": count, "tags": list(tags)}, f"tagged {count:,} sessions: {', '.join(tags)}")


def _inputs(view: SessionView) -> object:
    from rejudge.errors import NotFound, ReplayError
    from rejudge.replay.inputs import replay_inputs

    try:
        return replay_inputs(view)
    except ReplayError as error:
        raise NotFound(error.message, mend=error.mend) from error


def document_of(head: Session) -> dict[str, Any]:
    """A session's JSON: every field of it, payloads decoded."""
    return {name: getattr(head, name) for name in type(head).model_fields}


def _node(one: Node, *, payloads: bool) -> dict[str, Any]:
    lazy = type(one).lazy_fields
    return {name: getattr(one, name) for name in type(one).model_fields if payloads or name not in lazy}


_NODE_COLUMNS: dict[str, Callable[[Any], object]] = {
    "#": lambda one: one.index,
    "type": lambda one: one.node_type,
    "name": lambda one: one.tool_name or one.model or one.name,
    "status": lambda one: one.status,
    "seconds": lambda one: _seconds(one),
    "tokens": lambda one: _tokens(one),
    "error": lambda one: one.error,
}


def _seconds(one: Any) -> float | None:
    if one.started_at is None or one.ended_at is None:
        return None
    return round(float((one.ended_at - one.started_at).total_seconds()), 3)


def _tokens(one: Any) -> str | None:
    if one.input_tokens is None and one.output_tokens is None:
        return None
    return f"{text(one.input_tokens)} in, {text(one.output_tokens)} out"


def _short(value: object, limit: int = 400) -> str | None:
    if value is None:
        return None
    from rejudge.models.canonical import canonical_text
    from rejudge.models.safe_text import one_line

    try:
        shown = value if isinstance(value, str) else canonical_text(value)
    except ValueError:
        shown = repr(value)
    return one_line(shown, limit=limit)
