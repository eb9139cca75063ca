"""Spans in a file, one JSON line each, written as they start and end.

A process that is killed leaves every span that had ended, and its open ones as unfinished; lines are appended
whole, so that several processes can share a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from rejudge.otel.span import Batch, LogRecord, Span, SpanEvent, SpanLink
from rejudge.otel.text import clean_value, parse_document


class SpanFile:
    """Takes spans and log records."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def started(self, span: Span, context: object = None) -> None:
        """Keep a span that has started: read back as unfinished where it never ended."""
        self._write("open", span)

    def ended(self, span: Span) -> None:
        """Keep a span that has ended."""
        self._write("span", span)

    def emitted(self, record: LogRecord) -> None:
        """Keep a log record."""
        self._write("log", record)

    def _write(self, kind: str, value: Span | LogRecord) -> None:
        try:
            line = orjson.dumps({kind: value}, default=_plain, option=_OPTIONS)
        except TypeError:  # a lone surrogate, or an integer beyond 64 bits
            fields = {name: getattr(value, name) for name in type(value).__slots__}
            line = orjson.dumps({kind: clean_value(fields)}, default=_plain, option=_OPTIONS)
        os.write(self._file, line)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _plain(value: object) -> Any:
    # orjson leaves named tuples (events, links) to us.
    return list(value) if isinstance(value, tuple) else str(value)


_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS


def read_span_file(path: Path) -> Batch:
    """Everything in a file; what was cut off in the middle of a line is left out."""
    batch = Batch()
    opened: dict[tuple[str, str], Span] = {}
    for kind, fields in _lines(path):
        try:
            if kind == "log":
                batch.logs.append(LogRecord(**fields))
                continue
            span = _span(fields)
        except (TypeError, KeyError):
            continue
        if kind == "open":
            opened[span.trace_id, span.span_id] = span
        else:
            opened.pop((span.trace_id, span.span_id), None)
            batch.spans.append(span)
    batch.spans.extend(opened.values())
    return batch


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if not path.exists():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                value = parse_document(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield from ((kind, fields) for kind, fields in value.items() if isinstance(fields, dict))


def _span(fields: dict[str, Any]) -> Span:
    events = [SpanEvent(*event) for event in fields.pop("events")]
    links = [SpanLink(*link) for link in fields.pop("links")]
    return Span(**fields, events=events, links=links)
