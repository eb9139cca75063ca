"""Sessions as Kitaru's canonical JSONL: one session a line, its nodes flat and indexed.

https://docs.zenml.io/kitaru/guides/importing-sessions, as kitaru-jsonl-importer 0.2.0 checks it: unknown fields are
refused, and lines are split at every character that Unicode calls a line's end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from rejudge.models.session import Node, Session, SessionView
from rejudge.otel.containers.kitaru_ours import OURS
from rejudge.otel.text import clean_value

_NODE_EXTRAS: Final = (
    "agent_name",
    "tool_call_id",
    "response_id",
    "finish_reason",
    "cache_write_tokens",
    "cost_status",
    "error_type",
    "inferred",
    "incomplete",
)
_SESSION_EXTRAS: Final = ("source", "user_id", "agent")
_STATUSES: Final = ("in_progress", "completed", "failed")
_LINK: Final = "span_link"


def line_of(view: SessionView) -> bytes:
    """One session as a line of JSONL, with its end. ASCII only: Kitaru splits lines at U+2028 and its like."""
    return json.dumps(record_of(view), separators=(",", ":"), allow_nan=False).encode() + b"\n"


def record_of(view: SessionView) -> dict[str, Any]:
    """One session as a Kitaru record of plain JSON values."""
    session = view.session
    numbers = {node.id: number for number, node in enumerate(view.nodes)}
    return {
        "status": _status(session.status),
        "name": session.name,
        "input_text_selector": "" if isinstance(session.inputs, str) else None,
        "output_text_selector": "" if isinstance(session.outputs, str) else None,
        "inputs": clean_value(session.inputs),
        "outputs": clean_value(session.outputs),
        "error": session.error,
        "started_at": _time(session.started_at),
        "ended_at": _time(session.ended_at),
        "external_id": session.external_id or session.id,
        "metadata": {**clean_value(session.metadata or {}), OURS: _extras(session, _SESSION_EXTRAS)},
        "framework": session.framework,
        "nodes": [_node(node, number, numbers) for number, node in enumerate(view.nodes)],
    }


def _node(node: Node, number: int, numbers: Mapping[str, int]) -> dict[str, Any]:
    extras = _extras(node, _NODE_EXTRAS)
    parent = numbers.get(node.parent_id) if node.parent_id is not None else None
    if node.parent_id is not None and parent in (None, number):
        extras["parent_id"] = node.parent_id  # it was never recorded, and an index would have to name a node
        parent = None
    return {
        "index": number,
        "parent_index": parent,
        "links": [
            {"external_id": link, "kind": _LINK} for link in node.link_ids if link in numbers and link != node.id
        ],
        "external_id": node.id,
        "trace_id": node.trace_id,
        "node_type": node.node_type,
        "name": node.name,
        "status": _status(node.status),
        "error": node.error,
        "started_at": _time(node.started_at),
        "ended_at": _time(node.ended_at),
        **_selectors(node),
        "inputs": clean_value(node.inputs),
        "outputs": clean_value(node.outputs),
        "requested_model": node.requested_model,
        "model": node.model,
        "model_provider": node.provider,
        "tokens": _tokens(node),
        "cost": str(node.cost) if node.cost is not None and node.cost >= 0 else None,
        "model_params": clean_value(_model_params(node)),
        "tool_name": node.tool_name,
        "subagent_id": node.agent_name if node.node_type == "subagent_call" else None,
        "attributes": clean_value(node.attributes or {}),
        "metadata": {OURS: extras} if extras else {},
    }


def _status(status: str) -> str:
    return status if status in _STATUSES else "failed"


def _extras(record: Session | Node, names: tuple[str, ...]) -> dict[str, Any]:
    values = {name: getattr(record, name) for name in names}
    found = {
        name: value for name, value in values.items() if value is not None and value is not False and value != ""
    }
    if record.status not in _STATUSES:
        found["status"] = record.status
    return found


def _tokens(node: Node) -> dict[str, int] | None:
    counts = {
        "input_tokens": node.input_tokens,
        "output_tokens": node.output_tokens,
        "cached_input_tokens": node.cached_input_tokens,
        "reasoning_tokens": node.reasoning_tokens,
    }
    known = {name: count for name, count in counts.items() if count is not None and count >= 0}
    return known or None


def _model_params(node: Node) -> Any:
    inputs = node.inputs
    parameters = inputs.get("parameters") if node.node_type == "llm_call" and isinstance(inputs, Mapping) else None
    return parameters if isinstance(parameters, Mapping) else None


def _selectors(node: Node) -> dict[str, Any]:
    """JSON Pointers to what a person reads first."""
    if node.node_type != "llm_call":
        texts = {
            "input_text_selector": "" if isinstance(node.inputs, str) else None,
            "output_text_selector": "" if isinstance(node.outputs, str) else None,
        }
        return {**texts, "system_prompt_selector": None, "reasoning_selectors": []}
    asked = _parts(node.inputs, "text", role="user")
    answered = _parts(node.outputs, "text")
    return {
        "input_text_selector": asked[-1] if asked else None,
        "output_text_selector": answered[-1] if answered else None,
        "system_prompt_selector": _system_prompt(node.inputs),
        "reasoning_selectors": _parts(node.outputs, "reasoning"),
    }


def _parts(payload: Any, kind: str, *, role: str | None = None) -> list[str]:
    """Pointers to the texts of a payload's message parts of a kind."""
    messages = payload.get("messages") if isinstance(payload, Mapping) else None
    return [
        f"/messages/{i}/parts/{j}/content"
        for i, message in enumerate(messages if isinstance(messages, list) else ())
        if isinstance(message, Mapping) and (role is None or message.get("role") == role)
        for j, part in enumerate(message.get("parts") or ())
        if isinstance(part, Mapping) and part.get("type") == kind and isinstance(part.get("content"), str)
    ]


def _system_prompt(inputs: Any) -> str | None:
    instructions = inputs.get("system_instructions") if isinstance(inputs, Mapping) else None
    for i, part in enumerate(instructions if isinstance(instructions, list) else ()):
        if isinstance(part, Mapping) and isinstance(part.get("content"), str):
            return f"/system_instructions/{i}/content"
    system = _parts(inputs, "text", role="system")
    return system[0] if system else None


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")
