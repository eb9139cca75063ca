"""The kept form of spans and log records: JSON lines, zstd over the whole session.

A conversation whose every call repeats its history compresses to little more than its last call, because the window
reaches over all of it. Reading it back gives spans equal to the ones written.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import orjson
import zstandard

from rejudge.otel.span import Batch, LogRecord, Span, SpanEvent, SpanLink
from rejudge.otel.text import clean_value

_LEVEL = 3
_LONG = 256 * 1024
"""Bytes from which on the window is made long."""
_MAX_SIZE = 4 * 1024**3
_own = threading.local()


def pack(spans: Iterable[Span], records: Iterable[LogRecord] = ()) -> bytes:
    """The compressed form of some spans and records; empty for none."""
    lines = Lines()
    for span in spans:
        lines.add_span(span)
    for record in records:
        lines.add_record(record)
    text = lines.take()
    if not text:
        return b""
    return _compressor(len(text)).compress(text)


def unpack(packed: bytes) -> Batch:
    """The spans and records of their compressed form."""
    if not packed:
        return Batch()
    text = zstandard.ZstdDecompressor(max_window_size=2**31).decompress(packed, max_output_size=_MAX_SIZE)
    return read_lines(text.split(b"\n"))


class Lines:
    """Collects one line per span and record, and one per resource before its first use."""

    def __init__(self) -> None:
        self._text = bytearray()
        self._numbers: dict[int, int] = {}
        self._resources: list[dict[str, Any]] = []  # keeps ids from being used again
        self._known: dict[bytes, int] = {}

    @property
    def size(self) -> int:
        """Bytes of the lines so far."""
        return len(self._text)

    def add_span(self, span: Span) -> None:
        """Add the line of a span."""
        self._add(
            [
                "s", span.trace_id, span.span_id, span.parent_id, span.name, span.start_ns, span.end_ns, span.kind,
                span.status_code, span.status_message, span.attributes, span.events, span.links,
                self._number(span.resource), span.scope, span.scope_version, span.truncated, span.source,
                span.redacted,
            ]
        )  # fmt: skip

    def add_record(self, record: LogRecord) -> None:
        """Add the line of a log record."""
        self._add(
            [
                "l", record.trace_id, record.span_id, record.name, record.time_ns, record.body, record.attributes,
                self._number(record.resource), record.scope, record.severity, record.source,
            ]
        )  # fmt: skip

    def take(self) -> bytearray:
        """All lines, joined; what is added afterwards starts anew."""
        text = self._text
        self.__init__()  # type: ignore[misc]
        return text

    def _number(self, resource: dict[str, Any]) -> int:
        number = self._numbers.get(id(resource))
        if number is None:
            self._resources.append(resource)
            line = _dumps(["r", resource])
            number = self._known.get(line)  # equal resources of several requests are one
            if number is None:
                number = self._known[line] = len(self._known)
                self._append(line)
            self._numbers[id(resource)] = number
        return number

    def _add(self, row: list[Any]) -> None:
        self._append(_dumps(row))

    def _append(self, line: bytes) -> None:
        # At once to the others: kept apart until the end, the lines of a large session take its room twice.
        if self._text:
            self._text += b"\n"
        self._text += line


def read_lines(lines: Sequence[bytes]) -> Batch:
    """The spans and records of their lines."""
    resources: list[dict[str, Any]] = []
    batch = Batch()
    for line in lines:
        row = orjson.loads(line)
        kind = row[0]
        if kind == "s":
            row[11] = [SpanEvent(*event) for event in row[11]]
            row[12] = [SpanLink(*link) for link in row[12]]
            row[13] = resources[row[13]]
            batch.spans.append(Span(*row[1:]))
        elif kind == "l":
            row[7] = resources[row[7]]
            batch.logs.append(LogRecord(*row[1:]))
        else:
            resources.append(row[1])
    return batch


def _dumps(row: list[Any]) -> bytes:
    try:
        return orjson.dumps(row, default=list)  # it leaves named tuples to us
    except TypeError:
        return orjson.dumps(clean_value(row), option=orjson.OPT_NON_STR_KEYS, default=str)


def _compressor(size: int) -> zstandard.ZstdCompressor:
    # One for each thread: two threads in one compressor end the process with a segmentation fault.
    if size < _LONG:
        if not hasattr(_own, "short"):
            _own.short = zstandard.ZstdCompressor(level=_LEVEL)
        short: zstandard.ZstdCompressor = _own.short
        return short
    window = min(27, max(18, size.bit_length()))
    # Without the search for long matches: it takes four times as long, and a window over everything finds them too.
    parameters = zstandard.ZstdCompressionParameters.from_level(_LEVEL, window_log=window)
    return zstandard.ZstdCompressor(compression_params=parameters)
