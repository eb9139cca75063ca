"""Evaluations as ``gen_ai.evaluation.result`` events: log records beside the spans they judge.

https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-events.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from rejudge.models.attributes import SCOPE
from rejudge.models.session import Node, SessionView
from rejudge.otel.export.ids import span_id
from rejudge.otel.export.traces import trace_of
from rejudge.otel.export.values import attributes_of, nanoseconds

EVENT: Final = "gen_ai.evaluation.result"
_INFO: Final = 9
_WARN: Final = 13
_UNSCORED: Final = "unscored"


@dataclass(frozen=True, slots=True)
class Judged:
    """One evaluation, or one scoring that ended without any."""

    name: str
    """The metric; the evaluator where there is none."""
    created_at: datetime
    score: float | bool | None = None
    label: str | None = None
    """A categorical or textual result."""
    passed: bool | None = None
    explanation: str | None = None
    error_type: str | None = None
    """Why there is no result: a scoring's status, or ``unscored``."""
    facts: Mapping[str, Any] | None = None
    """Further attributes: which evaluator, which row."""


def event_of(judged: Judged, view: SessionView) -> dict[str, Any]:
    """The log record of one result, under the span that began the session."""
    session = view.session
    root = _root(view.nodes)
    attributes = {
        "gen_ai.evaluation.name": judged.name,
        "gen_ai.evaluation.score.value": float(judged.score) if judged.score is not None else None,
        "gen_ai.evaluation.score.label": judged.label or _verdict(judged),
        "gen_ai.evaluation.explanation": judged.explanation,
        "error.type": judged.error_type,
        "gen_ai.conversation.id": session.external_id or None,
        "rejudge.session.id": session.id,
        "rejudge.evaluation.passed": judged.passed,
        **(judged.facts or {}),
    }
    record: dict[str, Any] = {
        "timeUnixNano": nanoseconds(judged.created_at),
        "observedTimeUnixNano": nanoseconds(judged.created_at),
        "severityNumber": _WARN if judged.error_type else _INFO,
        "eventName": EVENT,
    }
    if root is not None:
        record |= {"traceId": trace_of(root, session), "spanId": span_id(root.id)}
    else:
        attributes["gen_ai.response.id"] = _last_response(view.nodes)
    return {**record, "attributes": attributes_of(attributes)}


def request_of(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Log records as one OTLP/JSON export request."""
    resource = {"service.name": "rejudge", "service.version": _version()}
    scope = {"scope": {"name": SCOPE, "version": _version()}, "logRecords": list(records)}
    return {"resourceLogs": [{"resource": {"attributes": attributes_of(resource)}, "scopeLogs": [scope]}]}


def _verdict(judged: Judged) -> str | None:
    if judged.error_type is not None:
        return _UNSCORED
    return None if judged.passed is None else "pass" if judged.passed else "fail"


def _root(nodes: Iterable[Node]) -> Node | None:
    for node in nodes:
        if node.parent_id is None and not node.inferred:
            return node
    return next((node for node in nodes if not node.inferred), None)


def _last_response(nodes: Iterable[Node]) -> str | None:
    found = [node.response_id for node in nodes if node.response_id is not None]
    return found[-1] if found else None


def _version() -> str:
    try:
        return version("rejudge")
    except PackageNotFoundError:  # run from a checkout that is not installed
        return "0"
