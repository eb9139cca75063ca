"""``--no-content``: spans without anything that was said, asked, answered or looked up.

What is kept is listed, not what is dropped: an attribute that nobody has heard of goes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from rejudge.otel.conventions import CONVENTIONS
from rejudge.otel.span import Attributes, Batch, LogRecord, Span, SpanEvent

_CONTENT_FIELDS: Final = frozenset(
    {
        "arguments", "result", "inputs", "outputs", "input_messages", "output_messages", "system_instructions",
        "tool_definitions", "parameters", "error",
    }
)  # fmt: skip
_KEPT: Final = frozenset(
    {
        "openinference.span.kind", "langfuse.observation.type", "langfuse.observation.level", "mlflow.spanType",
        "mlflow.traceRequestId", "mlflow.chat.tokenUsage", "langsmith.span.kind", "ai.operationId", "span.type",
        "traceloop.span.kind", "traceloop.entity.name", "llm.request.type", "logfire.span_type", "event.name",
        "haystack.component.type", "haystack.component.name", "gen_ai.workflow.name", "gen_ai.tool.type",
        "gen_ai.tool.status", "tool.status", "langfuse.observation.usage_details", "event_loop.cycle_id",
        "langfuse.observation.cost_details", "graph.node.id", "graph.node.parent_id", "prompt.id",
        "langfuse.observation.model.parameters",
        "langsmith.metadata.langgraph_node", "logfire.msg_template", "exception.type", "exception.escaped", "success",
        "duration_ms", "error_class",
    }
)  # fmt: skip
_PREFIXES: Final = (
    "gen_ai.usage.", "gen_ai.aggregated_usage.", "gen_ai.request.", "gen_ai.response.", "gen_ai.server.", "code.",
    "llm.token_count.", "llm.cost.", "ai.usage.", "ai.settings.", "ai.model.", "http.", "server.", "service.",
    "telemetry.", "deployment.", "otel.", "process.runtime.", "os.", "host.arch",
)  # fmt: skip
_LONGEST_NAME: Final = 120
"""Characters of a span's name; frameworks that name spans by the user's words write longer ones."""


def without_content(batch: Batch) -> Batch:
    """The batch without content; ids, names, counts, times, kinds and failures are still there."""
    return Batch([_span(span) for span in batch.spans], [_record(record) for record in batch.logs])


def _span(span: Span) -> Span:
    name = span.name if len(span.name) <= _LONGEST_NAME and "\n" not in span.name else ""
    return replace(
        span,
        name=name,
        attributes=_attributes(span.attributes),
        events=[
            SpanEvent(event.name, event.time_ns, _attributes(event.attributes) | _said_of_failure(event))
            for event in span.events
        ],
    )


def _said_of_failure(event: SpanEvent) -> Attributes:
    message = event.attributes.get("exception.message")
    return {"exception.message": message} if event.name == "exception" and isinstance(message, str) else {}


def _record(record: LogRecord) -> LogRecord:
    return replace(record, body=None, attributes=_attributes(record.attributes))


def _attributes(attributes: Attributes) -> Attributes:
    return {key: value for key, value in attributes.items() if _is_kept(key)}


@lru_cache(maxsize=10_000)
def _is_kept(key: str) -> bool:
    if key in _CONTENT:
        return False
    return key in _KEPT or key in _KNOWN or key.startswith(_PREFIXES)


_FIELDS: Final = [item for convention in CONVENTIONS for item in convention.fields.items()]
_CONTENT: Final = frozenset(key for key, field in _FIELDS if field in _CONTENT_FIELDS)
_KNOWN: Final = frozenset(key for key, field in _FIELDS if field not in _CONTENT_FIELDS) | frozenset(
    key for convention in CONVENTIONS for key in convention.sessions
)
