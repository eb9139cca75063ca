"""Langfuse exports: traces with their observations, as the UI and the API give them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rejudge.otel.containers.times import any_nanoseconds
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Attributes, Batch, Span
from rejudge.otel.text import undo_json, undo_json_fully

_TYPES: Final = frozenset(
    {"GENERATION", "SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR", "GUARDRAIL"}
)


def matches(document: Any) -> bool:
    """True for a trace with observations, a list of those, or observations alone."""
    if isinstance(document, list):
        return bool(document) and matches(document[0])
    if not isinstance(document, dict):
        return False
    if isinstance(document.get("observations"), list):
        return True
    data = document.get("data")
    return _is_observation(document) or (isinstance(data, list) and bool(data) and matches(data[0]))


def decode(document: Any, batch: Batch, refuse: Callable[[Malformed], None]) -> None:
    """Append the observations of one document, as spans, to a batch."""
    if isinstance(document, list):
        for item in document:
            decode(item, batch, refuse)
        return
    if not isinstance(document, dict):
        refuse(Malformed(f"an observation that is a {type(document).__name__}"))
    elif isinstance(document.get("observations"), list):
        trace = document.get("trace")
        _decode_trace(trace if isinstance(trace, dict) else document, document["observations"], batch, refuse)
    elif isinstance(document.get("data"), list):
        decode(document["data"], batch, refuse)
    else:
        _decode_trace({}, [document], batch, refuse)


def _is_observation(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("type") in _TYPES and "traceId" in raw and "startTime" in raw


def _decode_trace(
    trace: dict[str, Any], observations: list[Any], batch: Batch, refuse: Callable[[Malformed], None]
) -> None:
    resource: Attributes = {
        key: value
        for key, value in (
            ("langfuse.trace.name", trace.get("name")),
            ("langfuse.environment", trace.get("environment")),
            ("langfuse.release", trace.get("release")),
            ("langfuse.trace.tags", trace.get("tags") or None),
        )
        if value is not None
    }
    for raw in observations:
        try:
            batch.spans.append(_span(raw, trace, resource))
        except Malformed as error:
            if isinstance(raw, dict):
                error.span = f"{str(raw.get('traceId'))[:64]}:{str(raw.get('id'))[:64]}"
            refuse(error)


def _span(raw: Any, trace: dict[str, Any], resource: Attributes) -> Span:
    if not isinstance(raw, dict):
        raise Malformed(f"an observation that is a {type(raw).__name__}")
    trace_id, identity = raw.get("traceId") or trace.get("id"), raw.get("id")
    if not isinstance(trace_id, str) or not isinstance(identity, str) or not trace_id or not identity:
        raise Malformed("an observation without an id or a trace")
    metadata = undo_json(raw.get("metadata"))
    metadata = metadata if isinstance(metadata, dict) else {}
    scope = undo_json(metadata.get("scope"))
    scope = scope if isinstance(scope, dict) else {}
    parent = raw.get("parentObservationId")
    failed = raw.get("level") == "ERROR"
    start = any_nanoseconds(raw.get("startTime"))
    end = any_nanoseconds(raw.get("endTime"))
    return Span(
        trace_id,
        identity,
        parent if isinstance(parent, str) and parent else None,
        str(raw.get("name") or ""),
        start,
        end or start,
        0,
        2 if failed else 0,
        str(raw.get("statusMessage") or "") if failed else "",
        _attributes(raw, trace, metadata, root=not parent),
        [],
        [],
        resource,
        str(scope.get("name") or "langfuse"),
        str(scope.get("version") or ""),
        False,
        "langfuse",
    )


def _attributes(raw: dict[str, Any], trace: dict[str, Any], metadata: dict[str, Any], *, root: bool) -> Attributes:
    original = undo_json(metadata.get("attributes"))
    attributes: Attributes = dict(original) if isinstance(original, dict) else {}
    usage = raw.get("usageDetails")
    if isinstance(usage, dict) and any(usage.values()):
        attributes = {key: value for key, value in attributes.items() if not _counts(key)}
    else:
        usage = _old_usage(raw)
    cost = raw.get("costDetails")
    if not isinstance(cost, dict) or not cost:
        cost = {"total": raw["calculatedTotalCost"]} if raw.get("calculatedTotalCost") else None
    given, answer = raw.get("input"), raw.get("output")
    if root:
        given = undo_json_fully(trace.get("input")) if given is None else given
        answer = undo_json_fully(trace.get("output")) if answer is None else answer
    own = {
        "langfuse.observation.type": str(raw.get("type", "span")).lower(),
        "langfuse.observation.input": given,
        "langfuse.observation.output": answer,
        "langfuse.observation.model.name": raw.get("model"),
        "langfuse.observation.model.parameters": raw.get("modelParameters"),
        "langfuse.observation.usage_details": usage,
        "langfuse.observation.cost_details": cost,
        "langfuse.observation.level": raw.get("level"),
        "langfuse.observation.status_message": raw.get("statusMessage"),
        "langfuse.session.id": trace.get("sessionId") or raw.get("sessionId"),
        "langfuse.user.id": trace.get("userId") or raw.get("userId"),
    }
    attributes.pop("session.id", None)
    attributes.update({key: value for key, value in own.items() if value is not None})
    return attributes


def _counts(key: str) -> bool:
    return ".usage." in key or ".token_count." in key or key == "mlflow.chat.tokenUsage"


def _old_usage(raw: dict[str, Any]) -> dict[str, Any] | None:
    """Usage as it was before ``usageDetails``: an object, or columns of their own; zeros mean not counted."""
    usage = raw.get("usage")
    if isinstance(usage, dict):
        found = {
            "input": usage.get("input", usage.get("promptTokens")),
            "output": usage.get("output", usage.get("completionTokens")),
        }
    else:
        found = {
            "input": raw.get("inputUsage", raw.get("promptTokens")),
            "output": raw.get("outputUsage", raw.get("completionTokens")),
        }
    return found if any(found.values()) else None
