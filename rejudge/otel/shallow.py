"""Spans whose values are nested deeper than anything means something, made shallow.

JSON goes a thousand levels deep before a parser refuses it, and functions that follow it do not. Looking for such
values in every span would cost as much as reading them; so they are looked for where following one has failed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rejudge.otel.grouping import Group
from rejudge.otel.span import LogRecord, Span
from rejudge.otel.text import as_text, clean_value, parse_text


def shallow(group: Group) -> Group:
    """The group, with everything below `rejudge.otel.text.MAX_DEPTH` levels kept as text."""
    return replace(
        group, spans=[_span(span) for span in group.spans], records=[_record(one) for one in group.records]
    )


def _span(span: Span) -> Span:
    return replace(
        span,
        attributes=_values(span.attributes),
        events=[event._replace(attributes=_values(event.attributes)) for event in span.events],
    )


def _record(record: LogRecord) -> LogRecord:
    return replace(record, body=_value(record.body), attributes=_values(record.attributes))


def _values(attributes: dict[str, Any]) -> dict[str, Any]:
    return {key: _value(value) for key, value in attributes.items()}


def _value(value: Any) -> Any:
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return clean_value(value)
    try:
        parsed = parse_text(value)
    except ValueError:
        return value
    cleaned = clean_value(parsed)
    return value if cleaned == parsed else as_text(cleaned)
