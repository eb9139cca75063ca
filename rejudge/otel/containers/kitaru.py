"""Kitaru's canonical JSONL, both ways: one session a line, its nodes flat and indexed.

https://docs.zenml.io/kitaru/import-your-traces/importing-sessions
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from rejudge.models.session import Node, SessionView
from rejudge.otel.containers.times import any_nanoseconds
from rejudge.otel.conventions.kitaru import NODE
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import STATED, Attributes, Batch, Span, SpanLink

_NODE_TYPES: Final = frozenset({"llm_call", "tool_call", "subagent_call", "span"})


def matches(document: Any) -> bool:
    """True for one session with its nodes."""
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        return False
    return "external_id" in document or any(
        isinstance(node, dict) and node.get("node_type") in _NODE_TYPES for node in document["nodes"]
    )


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the nodes of one session, as spans, to a batch. A session with one bad node is refused whole."""
    try:
        batch.spans += _spans(document)
    except Malformed as error:
        error.span = str(document.get("external_id"))[:128]
        refuse(error)


def record_of(view: SessionView) -> dict[str, Any]:
    """One session as a Kitaru record, ready to be written as one line of JSON.

    Times are ISO texts and costs are texts; nodes keep their order, and a parent that was never recorded is left out.
    """
    session = view.session
    numbers = {node.id: node.index for node in view.nodes}
    return {
        "status": session.status if session.status in ("in_progress", "completed") else "failed",
        "name": session.name,
        "inputs": session.inputs,
        "outputs": session.outputs,
        "error": session.error,
        "started_at": _iso(session.started_at),
        "ended_at": _iso(session.ended_at),
        "external_id": session.external_id or session.id,
        "metadata": session.metadata or {},
        "framework": session.framework,
        "nodes": [_node_record(node, numbers) for node in view.nodes],
    }


def _node_record(node: Node, numbers: dict[str, int]) -> dict[str, Any]:
    parent = numbers.get(node.parent_id) if node.parent_id else None
    tokens = {
        "input_tokens": node.input_tokens,
        "output_tokens": node.output_tokens,
        "cached_input_tokens": node.cached_input_tokens,
        "reasoning_tokens": node.reasoning_tokens,
    }
    inputs = node.inputs
    parameters = inputs.get("parameters") if node.node_type == "llm_call" and isinstance(inputs, dict) else None
    return {
        "index": node.index,
        "parent_index": parent if parent is not None and parent < node.index else None,
        "secondary_parent_indexes": sorted(
            number for link in node.link_ids if (number := numbers.get(link)) is not None and number < node.index
        ),
        "external_id": node.id,
        "trace_id": node.trace_id,
        "node_type": node.node_type,
        "name": node.name,
        "status": node.status if node.status in ("in_progress", "completed") else "failed",
        "error": node.error,
        "started_at": _iso(node.started_at),
        "ended_at": _iso(node.ended_at),
        "inputs": inputs,
        "outputs": node.outputs,
        "requested_model": node.requested_model,
        "model": node.model,
        "model_provider": node.provider,
        "tokens": tokens if any(value is not None for value in tokens.values()) else None,
        "cost": None if node.cost is None else str(node.cost),
        "model_params": parameters,
        "tool_name": node.tool_name,
        "subagent_id": node.agent_name if node.node_type == "subagent_call" else None,
        "attributes": node.attributes or {},
        "metadata": {},
    }


def _spans(session: dict[str, Any]) -> list[Span]:
    identity = session.get("external_id")
    if not isinstance(identity, str) or not identity:
        raise Malformed("a session without external_id")
    nodes = session["nodes"]
    if not nodes:
        raise Malformed("a session without nodes")
    names = _names(nodes)
    resource: Attributes = {STATED: _stated(session)}
    return [_span(node, identity, names, resource) for node in nodes]


def _names(nodes: list[Any]) -> dict[int, str]:
    """Node ids by index: the source's own, where every node has one and none comes twice."""
    indexes = [index for node in nodes if isinstance(node, dict) and isinstance(index := node.get("index"), int)]
    if len(set(indexes)) != len(nodes):
        raise Malformed("nodes whose indexes are missing or come twice")
    own = [node.get("external_id") for node in nodes]
    if all(isinstance(name, str) and name for name in own) and len(set(own)) == len(own):
        return dict(zip(indexes, own, strict=True))
    return {index: str(index) for index in indexes}


def _stated(session: dict[str, Any]) -> dict[str, Any]:
    """What a record says of the whole session, over what could be read out of its nodes."""
    facts = {
        name: session.get(name) for name in ("status", "name", "inputs", "outputs", "error", "framework", "metadata")
    }
    return {name: value for name, value in facts.items() if value is not None}


def _span(node: dict[str, Any], identity: str, names: dict[int, str], resource: Attributes) -> Span:
    if node.get("node_type") not in _NODE_TYPES:
        raise Malformed(f"node {node['index']}: no node_type of {', '.join(sorted(_NODE_TYPES))}")
    parent = node.get("parent_index")
    if parent is not None and (parent not in names or parent >= node["index"]):
        raise Malformed(f"node {node['index']}: its parent {parent!r} does not come before it")
    trace_id = hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:32]
    start = any_nanoseconds(node.get("started_at")) or node["index"] + 1
    end = any_nanoseconds(node.get("ended_at")) or (0 if node.get("status") == "in_progress" else start)
    error = node.get("error")
    links = node.get("secondary_parent_indexes")
    return Span(
        trace_id,
        names[node["index"]],
        names[parent] if parent is not None else None,
        str(node.get("name") or ""),
        start,
        end,
        0,
        2 if node.get("status") == "failed" else 1,
        error if isinstance(error, str) else "",
        {"kitaru.session_id": identity, NODE: node},
        [],
        [SpanLink(trace_id, names[link]) for link in links or () if link in names],
        resource,
        "",
        "",
        False,
        "kitaru",
    )


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
