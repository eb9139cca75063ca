"""What one node of a session holds: its facts, what it was given, what it returned."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from rejudge.cli.output import Output, jsonable
from rejudge.errors import NotFound

if TYPE_CHECKING:
    from rejudge.models.session import Node, SessionView

_PAYLOADS = ("inputs", "outputs", "attributes")


def show_node(output: Output, view: SessionView, written: str) -> None:
    """Show the node of that place or id.

    Raises:
        NotFound: Where the session has none.
    """
    node = _named(view, written)
    if output.as_json:
        output.document({name: getattr(node, name) for name in type(node).model_fields})
        return
    facts = (
        (name.replace("_", " "), getattr(node, name)) for name in type(node).model_fields if name not in _PAYLOADS
    )
    output.item(node, [(name, value) for name, value in facts if value not in (None, (), "", False)])
    for name in _PAYLOADS:
        value = getattr(node, name)
        if value is not None:
            click.echo(f"\n{name}")
            echo_payload(_readable(value) if node.node_type == "llm_call" else value)


def echo_payload(value: object) -> None:
    """A recorded value in lines: text as it was written, anything else as JSON; nothing a terminal would obey."""
    from rejudge.models.safe_text import plain

    written = value if isinstance(value, str) else json.dumps(jsonable(value), ensure_ascii=False, indent=2)
    click.echo("\n".join(f"  {line}" for line in plain(written).splitlines()))


def _readable(value: Any) -> Any:
    """A model call's messages as they were said; everything else as it is."""
    from rejudge.report.diff_words import message_text

    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        return value
    system = [{"role": "system", "parts": value["system_instructions"]}] if value.get("system_instructions") else []
    said = [message_text(one) for one in [*system, *value["messages"]]]
    rest = {name: one for name, one in value.items() if one and name not in ("messages", "system_instructions")}
    return "\n".join([*said, *([json.dumps(jsonable(rest), ensure_ascii=False)] if rest else [])])


def _named(view: SessionView, written: str) -> Node:
    for node in view.nodes:
        if node.id == written:
            return node
    if written.isdecimal() and int(written) < len(view.nodes):
        return view.nodes[int(written)]
    raise NotFound(
        f"session {view.session.number} has no node {written!r}",
        mend=f"its nodes are 0 to {len(view.nodes) - 1}" if view.nodes else "it has no nodes at all",
    )
