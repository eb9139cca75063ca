"""Recorded calls out of sessions: what a tape is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import orjson

from rejudge.models.attributes import RAW_RESPONSE
from rejudge.models.canonical import canonical_bytes
from rejudge.models.policy import Scope
from rejudge.models.session import Node, SessionView
from rejudge.replay.keys import call_key
from rejudge.replay.tape import RecordedCall, Tape

_RESPONSE_FACTS = (
    "model",
    "response_id",
    "finish_reason",
    "input_tokens",
    "output_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)


def build_tape(baseline: SessionView, *, wider: Mapping[Scope, Iterable[SessionView]] | None = None) -> Tape:
    """The tape of a baseline, and of the wider scopes that some policy reads.

    Args:
        wider: By scope, its sessions. Of equal calls only the newest completed ones are kept.
    """
    scopes: dict[Scope, list[RecordedCall]] = {"baseline": recorded_calls(baseline)}
    for scope, views in (wider or {}).items():
        if scope != "baseline":
            scopes[scope] = _newest(call for view in views for call in recorded_calls(view))
    return Tape(scopes)


def _newest(calls: Iterable[RecordedCall]) -> list[RecordedCall]:
    """Of equal calls the newest completed one; where none completed, the newest."""
    kept: dict[bytes, RecordedCall] = {}
    for call in calls:
        try:
            key = canonical_bytes([call.kind, call.name, call.arguments])
        except ValueError:
            continue
        if key not in kept or _rank(call) >= _rank(kept[key]):
            kept[key] = call
    return list(kept.values())


def _rank(call: RecordedCall) -> tuple[bool, str]:
    return call.status == "completed" and call.incomplete is None, call.ended_at


def recorded_calls(view: SessionView) -> list[RecordedCall]:
    """Every call of tools and models in a session, in order.

    A step that was read out of messages answers like one that had a span. A sub-agent that was called as a
    tool is a tool call.
    """
    nodes = [node for node in view.nodes if _kind(node) is not None]
    covers = _covered(view, {node.id for node in nodes})
    return [_recorded(node, view, tuple(covers.get(node.id, ()))) for node in nodes]


def _kind(node: Node) -> str | None:
    if node.node_type == "llm_call":
        return "model"
    return "tool" if tool_name(node) else None


def tool_name(node: Node) -> str | None:
    """The tool that a node called; None where it called none."""
    if node.node_type == "tool_call":
        return node.tool_name or node.name
    return node.tool_name if node.node_type == "subagent_call" else None


def _covered(view: SessionView, calls: set[str]) -> dict[str, list[str]]:
    """By call, everything that ran inside it."""
    parents = {node.id: node.parent_id for node in view.nodes}
    covered: dict[str, list[str]] = {}
    for node in view.nodes:
        seen = {node.id}
        above = node.parent_id
        while above is not None and above not in seen:
            seen.add(above)
            if above in calls:
                covered.setdefault(above, []).append(node.id)
            above = parents.get(above)
    return covered


def _recorded(node: Node, view: SessionView, covers: tuple[str, ...]) -> RecordedCall:
    model = node.node_type == "llm_call"
    return RecordedCall(
        kind="model" if model else "tool",
        name=(node.requested_model or node.model or "") if model else (tool_name(node) or ""),
        arguments=node.inputs if model else _arguments(node),
        result=node.outputs,
        node_id=node.id,
        index=node.index,
        session_id=view.session.id,
        status=node.status,
        error=node.error,
        error_type=node.error_type,
        incomplete=node.incomplete,
        inferred=node.inferred,
        ended_at=_iso(node.ended_at or node.started_at),
        covers=covers,
        response=_response(node) if model else None,
    )


def _arguments(node: Node) -> Any:
    """What the tool was called with; a tool without arguments is recorded in several ways, and means ``{}``."""
    if node.inputs in (None, "", {}):
        return None if node.incomplete else {}
    if isinstance(node.inputs, str):
        try:
            return orjson.loads(node.inputs)
        except ValueError:
            return node.inputs
    return node.inputs


def _response(node: Node) -> dict[str, Any]:
    facts: dict[str, Any] = {name: getattr(node, name) for name in _RESPONSE_FACTS}
    raw = (node.attributes or {}).get(RAW_RESPONSE)
    if isinstance(raw, str):
        try:
            raw = orjson.loads(raw)
        except ValueError:
            raw = None
    return {**facts, "raw": raw}


def _iso(moment: datetime | None) -> str:
    return moment.isoformat() if moment is not None else ""


def tape_key(node: Node, *, ignore: tuple[str, ...] = ()) -> str:
    """The key under which a tool node is looked up."""
    return call_key(tool_name(node) or "", _arguments(node), ignore=ignore)
