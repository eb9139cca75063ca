"""Sessions as OTLP traces in the GenAI semantic conventions, to be read by any backend, and by ourselves again.

https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rejudge.models.attributes import INCOMPLETE, INPUTS, OUTPUTS, PARAMETERS, SCOPE
from rejudge.models.session import Node, Session, SessionView
from rejudge.otel.export.ids import span_id, trace_id
from rejudge.otel.export.values import attributes_of, json_text, nanoseconds
from rejudge.otel.span import STATED

_INTERNAL: Final = 1
_CLIENT: Final = 3
_OK: Final = 1
_ERROR: Final = 2
_PARAMETERS: Final = {
    **{
        name: f"gen_ai.request.{name}"
        for name in (
            "temperature",
            "top_p",
            "top_k",
            "max_tokens",
            "frequency_penalty",
            "presence_penalty",
            "stop_sequences",
            "seed",
            "stream",
            "encoding_formats",
        )
    },
    "choice_count": "gen_ai.request.choice.count",
    "output_type": "gen_ai.output.type",
}
_KIND: Final = "rejudge.kind"
"""Attribute of nodes that are no calls: what else they are."""

_STATED: Final = ("name", "framework", "user_id", "error", "inputs", "outputs")
"""What of a session its spans alone do not say to whoever reads them again."""

_OPERATIONS: Final = {"agent": "invoke_agent", "workflow": "invoke_workflow", "embedding": "embeddings"}


def traces_of(view: SessionView) -> dict[str, Any]:
    """One session as an OTLP/JSON export request.

    Nodes that were read out of messages and had no span of their own are left out.
    """
    session = view.session
    metadata = session.metadata or {}
    resource = metadata.get("resource")
    named = dict(resource) if isinstance(resource, Mapping) else {"service.name": session.agent or "rejudge"}
    named[STATED] = {name: getattr(session, name) for name in _STATED}
    nodes = [node for node in view.nodes if not node.inferred]
    known = {node.id: node for node in nodes}
    scope = {"scope": {"name": SCOPE}, "spans": [_span(node, session, known) for node in nodes]}
    return {"resourceSpans": [{"resource": {"attributes": attributes_of(named)}, "scopeSpans": [scope]}]}


def trace_of(node: Node, session: Session) -> str:
    """The id of the trace that a node's span belongs to."""
    return trace_id(node.trace_id, otherwise=session.external_id or session.id)


def _span(node: Node, session: Session, known: Mapping[str, Node]) -> dict[str, Any]:
    linked = [known[link] for link in node.link_ids if link in known]
    links = [{"traceId": trace_of(one, session), "spanId": span_id(one.id)} for one in linked]
    attributes = _attributes(node)
    identity = session.external_id or None
    if node.parent_id not in known and node.trace_id != identity and identity not in attributes.values():
        attributes["gen_ai.conversation.id"] = identity
    span: dict[str, Any] = {
        "traceId": trace_of(node, session),
        "spanId": span_id(node.id),
        "name": node.name,
        "kind": _CLIENT if node.node_type == "llm_call" else _INTERNAL,
        "startTimeUnixNano": nanoseconds(node.started_at),
        "endTimeUnixNano": _end(node),
        "attributes": attributes_of(attributes),
        "status": _status(node),
    }
    if node.parent_id is not None:
        span["parentSpanId"] = span_id(node.parent_id)
    if links:
        span["links"] = links
    return span


def _end(node: Node) -> str:
    if node.ended_at is not None or node.status == "in_progress":
        return nanoseconds(node.ended_at)
    # An end of zero would say that it is still open.
    return nanoseconds(node.started_at) if node.started_at is not None else "1"


def _status(node: Node) -> dict[str, Any]:
    if node.status in ("completed", "in_progress"):
        return {"code": _OK} if node.status == "completed" else {}
    return {"code": _ERROR, "message": node.error or node.status}


def _attributes(node: Node) -> dict[str, Any]:
    """Facts by their semantic names, after what the trace said beyond them."""
    found = dict(node.attributes or {})
    kind = found.pop(_KIND, None)
    found["error.type"] = node.error_type
    found[INCOMPLETE] = node.incomplete
    if node.node_type == "llm_call":
        return found | _model_call(node)
    if node.node_type == "tool_call":
        return found | _tool_call(node)
    operation = "invoke_agent" if node.node_type == "subagent_call" else _OPERATIONS.get(str(kind))
    found["gen_ai.operation.name"] = operation
    found["gen_ai.agent.name"] = node.agent_name
    if operation == "embeddings":
        found |= _model(node)
    found[INPUTS] = None if node.inputs is None else json_text(node.inputs)
    found[OUTPUTS] = None if node.outputs is None else json_text(node.outputs)
    return found


def _model_call(node: Node) -> dict[str, Any]:
    inputs = node.inputs if isinstance(node.inputs, Mapping) else {}
    outputs = node.outputs if isinstance(node.outputs, Mapping) else {}
    parameters = inputs.get("parameters")
    return {
        "gen_ai.operation.name": "chat",
        **_model(node),
        **{
            _PARAMETERS[name]: value
            for name, value in (parameters.items() if isinstance(parameters, Mapping) else ())
            if name in _PARAMETERS
        },
        PARAMETERS: _text_of(parameters),
        "gen_ai.input.messages": _text_of(inputs.get("messages")),
        "gen_ai.system_instructions": _text_of(inputs.get("system_instructions")),
        "gen_ai.tool.definitions": _text_of(inputs.get("tools")),
        "gen_ai.output.messages": _text_of(outputs.get("messages")),
    }


def _model(node: Node) -> dict[str, Any]:
    return {
        "gen_ai.provider.name": node.provider,
        "gen_ai.request.model": node.requested_model,
        "gen_ai.response.model": node.model,
        "gen_ai.response.id": node.response_id,
        "gen_ai.response.finish_reasons": [node.finish_reason] if node.finish_reason else None,
        "gen_ai.usage.input_tokens": node.input_tokens,
        "gen_ai.usage.output_tokens": node.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": node.cached_input_tokens,
        "gen_ai.usage.cache_creation.input_tokens": node.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": node.reasoning_tokens,
        "gen_ai.usage.cost": float(node.cost) if node.cost is not None and node.cost_status == "recorded" else None,
        "gen_ai.agent.name": node.agent_name,
    }


def _tool_call(node: Node) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": node.tool_name or node.name,
        "gen_ai.tool.call.id": node.tool_call_id,
        "gen_ai.tool.call.arguments": None if node.incomplete == "not captured" else json_text(node.inputs),
        "gen_ai.tool.call.result": None if node.outputs is None else json_text(node.outputs),
        "gen_ai.agent.name": node.agent_name,
    }


def _text_of(value: Any) -> str | None:
    return None if value is None else json_text(value)
