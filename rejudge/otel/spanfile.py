"""Spans in a file, written as they start and end.

A process that is killed leaves every span that had ended, and its open ones as unfinished. Each span is appended in
one write, in the lines of `rejudge.otel.packing`, its resource before it: several processes can share a file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rejudge.otel.packing import Lines, read_lines
from rejudge.otel.span import Batch, LogRecord, Span

_OPEN: Final = b'["open"]'
"""Stands before a span that has started and not ended."""


class SpanFile:
    """Takes spans and log records."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def started(self, span: Span, context: object = None) -> None:
        """Keep a span that has started: read back as unfinished where it never ended."""
        lines = Lines()
        lines.add_span(span)
        os.write(self._file, _OPEN + b"\n" + lines.take() + b"\n")

    def ended(self, span: Span) -> None:
        """Keep a span that has ended."""
        lines = Lines()
        lines.add_span(span)
        os.write(self._file, lines.take() + b"\n")

    def emitted(self, record: LogRecord) -> None:
        """Keep a log record."""
        lines = Lines()
        lines.add_record(record)
        os.write(self._file, lines.take() + b"\n")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def read_span_file(path: Path) -> Batch:
    """Everything in a file; what was cut off in the middle is left out."""
    batch = Batch()
    opened: dict[tuple[str, str], Span] = {}
    for is_open, one in _chunks(path):
        batch.logs += one.logs
        for span in one.spans:
            key = (span.trace_id, span.span_id)
            if is_open:
                opened[key] = span
            else:
                opened.pop(key, None)
                batch.spans.append(span)
    batch.spans += opened.values()
    return batch


def _chunks(path: Path) -> Iterator[tuple[bool, Batch]]:
    if not path.exists():
        return
    resource, is_open = b"", False
    with path.open("rb") as file:
        for line in file:
            line = line.rstrip(b"\n")
            if line == _OPEN:
                is_open = True
            elif line.startswith(b'["r"'):
                resource = line
            else:
                chunk = _chunk(resource, line)
                if chunk is not None:
                    yield is_open, chunk
                is_open = False


def _chunk(resource: bytes, line: bytes) -> Batch | None:
    try:
        return read_lines([resource, line])
    except (ValueError, TypeError, IndexError, KeyError):  # cut off
        return None
