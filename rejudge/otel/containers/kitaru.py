"""Kitaru's canonical JSONL: one session a line, its nodes flat and indexed.

https://docs.zenml.io/kitaru/guides/importing-sessions
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

from rejudge.otel.containers.kitaru_ours import decode_ours, is_ours
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
        if is_ours(document):
            decode_ours(document, batch, refuse)
        else:
            batch.spans += _spans(document)
    except Malformed as error:
        error.span = str(document.get("external_id"))[:128]
        refuse(error)


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
        [SpanLink(trace_id, link) for link in _links(node, names)],
        resource,
        "",
        "",
        False,
        "kitaru",
    )


def _links(node: dict[str, Any], names: dict[int, str]) -> list[str]:
    """Nodes that a node is linked to: by id, or by index as until 2026."""
    links, indexes = node.get("links"), node.get("secondary_parent_indexes")
    named = [link.get("external_id") for link in links if isinstance(link, dict)] if isinstance(links, list) else []
    numbered = [names.get(index) for index in indexes if isinstance(index, int)] if isinstance(indexes, list) else []
    return [link for link in (*named, *numbered) if isinstance(link, str)]
