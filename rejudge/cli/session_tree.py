"""`rejudge session tree`: where a session comes from, and what was made of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options, plain, show_rich

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from rejudge.models.lineage import Lineage, LineageReplay

_COLOURS = {"completed": "green", "running": "yellow", "pending": "yellow", "in_progress": "yellow"}


@click.command()
@click.argument("reference", metavar="SESSION")
@output_options
def tree(output: Output, *, reference: str) -> None:
    """Show a session's lineage: its baseline, and every replay and fork with its change, fork point and status."""
    with opened() as store:
        found = store.sessions.tree(reference)
        session_id = store.sessions.get(reference).session.id
    if output.as_json:
        output.document(found.model_dump(mode="json"))
        return
    show_rich(_drawn(found, session_id))


def _drawn(lineage: Lineage, session_id: str) -> Tree:
    from rich.tree import Tree

    drawn = Tree(_line(lineage, session_id), guide_style="dim")
    _add(drawn, lineage, session_id)
    return drawn


def _add(drawn: Tree, lineage: Lineage, session_id: str) -> None:
    for child in lineage.children:
        _add(drawn.add(_line(child, session_id)), child, session_id)


def _line(one: Lineage, session_id: str) -> Text:
    from rich.text import Text

    agent = f"{one.agent}@{one.agent_version}" if one.agent_version is not None else one.agent
    what = f"session {one.number}" if one.number is not None else f"replay {one.replay.number if one.replay else '?'}"
    status = one.status.replace("_", " ")
    line = Text.assemble(
        (what, "bold reverse" if one.id == session_id else "bold"),
        f"  {plain(agent)}  ",
        (status, _COLOURS.get(one.status, "red")),
    )
    if one.replay is None:
        return line.append(f"  {one.origin}", "dim")
    line.append(f"  {plain(_change(one.replay))}")
    if one.id is not None:
        line.append(f"  replay {one.replay.number}", "dim")
    if one.replay.error:
        line.append(f"  {plain(one.replay.error)}", "red")
    return line


def _change(replay: LineageReplay) -> str:
    from rejudge.models.override import Override, change_words

    parts = change_words(Override.model_validate(replay.override))
    trial = [f"trial {replay.trial}"] if replay.trial else []
    where = [f"from node {replay.fork_point}"] if replay.fork_point else []
    kind = "fork" if parts or where else "unchanged"
    return ", ".join([f"{kind}: {parts[0]}" if parts else kind, *parts[1:], *where, *trial])
