"""The normalised span: what every container is decoded to and every convention reads from.

The objects are slotted and not frozen (a frozen one costs three times as much to build), but nothing changes one
after it was decoded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

STATED: Final = "rejudge.stated"
"""The resource attribute under which a container puts what it was told of the whole session."""

Attributes: TypeAlias = dict[str, Any]
"""Attribute names to plain JSON values: str, bool, int, float, list, dict or None."""


class SpanEvent(NamedTuple):
    """Something that happened inside a span."""

    name: str
    time_ns: int
    attributes: Attributes


class SpanLink(NamedTuple):
    """A pointer to another span, perhaps in another trace."""

    trace_id: str
    span_id: str


@dataclass(slots=True)
class Span:
    """One decoded span, whatever it was wrapped in."""

    trace_id: str
    """Lower-case hex for OTLP kinds; an export's own id otherwise."""
    span_id: str
    parent_id: str | None
    name: str
    start_ns: int
    """Nanoseconds since the epoch, as said by the producer; may be negative, or in the future."""
    end_ns: int
    """0 where the span had not ended."""
    kind: int
    status_code: int
    """0 unset, 1 ok, 2 error."""
    status_message: str
    attributes: Attributes
    events: list[SpanEvent]
    links: list[SpanLink]
    resource: Attributes
    """Shared by every span of the same resource."""
    scope: str = ""
    """Name of the instrumentation scope."""
    scope_version: str = ""
    truncated: bool = False
    """True where the producer dropped attributes or events."""
    source: str = "otel"
    """``otel`` for wire formats; ``langfuse``, ``phoenix``… for the exports of a product."""
    redacted: bool = False
    """True where a rule of the import took something out."""
    shape: Any = field(default=None, init=False, repr=False, compare=False)
    """How the conventions read it, once they have been asked."""


@dataclass(slots=True)
class LogRecord:
    """One decoded log record."""

    trace_id: str
    """Empty where the record had no context."""
    span_id: str
    name: str
    """The event name; empty where the record had none."""
    time_ns: int
    body: Any
    attributes: Attributes
    resource: Attributes
    scope: str = ""
    severity: int = 0
    source: str = "otel"


@dataclass(slots=True)
class Batch:
    """Some decoded spans and log records, in the order in which they were read."""

    spans: list[Span] = field(default_factory=list)
    logs: list[LogRecord] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.spans) + len(self.logs)
