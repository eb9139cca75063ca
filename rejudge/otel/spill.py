"""Room for spans beyond memory: buckets in one temporary file, each small enough to be looked at by itself.

Spans are first put into buckets by trace, so that every bucket holds whole traces; those that turn out to belong to
a session of several traces are put into buckets by session, in a second file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO, Final, Self
from zlib import crc32

import zstandard

from rejudge.otel.collecting import CollectingLater
from rejudge.otel.grouping import Group, named_session, record_session_id
from rejudge.otel.homes import Homes
from rejudge.otel.options import Options
from rejudge.otel.packing import Lines, read_lines
from rejudge.otel.span import Attributes, Batch, LogRecord, Span

_BUCKETS: Final = 256
_CHUNK: Final = 64 * 1024
"""Bytes of lines that a bucket collects before they are compressed and written."""
_TEXT_LIMIT: Final = 96 * 1024 * 1024
"""Characters of attributes that are kept in memory, however few spans hold them."""


class Spill:
    """Spans and records, in memory at first, in a temporary file once there are too many."""

    def __init__(self, limit: int, options: Options) -> None:
        self.limit = limit
        self._options = options
        self.homes = Homes()
        """Which bucket holds what names a session; kept for what is added by trace."""
        self._batch = Batch()
        self._text = 0
        self._file: IO[bytes] | None = None
        self._pending: list[Lines] = []
        self._chunks: list[list[tuple[int, int]]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def is_spilled(self) -> bool:
        """True once something went to disk."""
        return self._file is not None

    def close(self) -> None:
        """Forget everything."""
        self._batch = Batch()
        if self._file is not None:
            self._file.close()
            self._file = None

    def add(self, batch: Batch) -> None:
        """Take a batch, to be asked for by trace."""
        if self._file is None:
            self._batch.spans += batch.spans
            self._batch.logs += batch.logs
            self._text += _text_in(batch)
            if len(self._batch) <= self.limit and self._text <= _TEXT_LIMIT:
                return
            batch, self._batch = self._batch, Batch()
            self._open()
        note, options = self.homes.note, self._options
        for span in batch.spans:
            bucket = crc32(span.trace_id.encode()) % _BUCKETS
            identity = named_session(span, options)
            if identity is not None:
                note(identity, bucket)
            self._put_span(bucket, span)
        for record in batch.logs:
            bucket = crc32(_home_of(record)) % _BUCKETS
            identity = record_session_id(record, options)
            if identity is not None:
                note(identity, bucket)
            self._put_record(bucket, record)

    def add_keyed(self, groups: Iterable[Group]) -> None:
        """Take the members of some groups, to be asked for by session."""
        if self._file is None:
            self._open()
        for group in groups:
            bucket = crc32(f"{group.source}\0{group.external_id}".encode()) % _BUCKETS
            for span in group.spans:
                self._put_span(bucket, span)
            for record in group.records:
                self._put_record(bucket, record)

    def take(self) -> Batch:
        """All there is, of a spill that stayed in memory."""
        batch, self._batch = self._batch, Batch()
        return batch

    def batches(self) -> Iterator[tuple[int, Batch]]:
        """Bucket by bucket, with its number; may be asked for again."""
        for bucket in range(len(self._pending)):
            self._flush(bucket)
            batch = Batch()
            with CollectingLater():
                for start, size in self._chunks[bucket]:
                    some = self._read(start, size)
                    batch.spans += some.spans
                    batch.logs += some.logs
            if batch:
                yield bucket, batch

    def _open(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="rejudge-spans-")  # noqa: SIM115 - closed by close()
        self._pending = [Lines() for _ in range(_BUCKETS)]
        self._chunks = [[] for _ in range(_BUCKETS)]

    def _put_span(self, bucket: int, span: Span) -> None:
        lines = self._pending[bucket]
        lines.add_span(span)
        if lines.size >= _CHUNK:
            self._flush(bucket)

    def _put_record(self, bucket: int, record: LogRecord) -> None:
        lines = self._pending[bucket]
        lines.add_record(record)
        if lines.size >= _CHUNK:
            self._flush(bucket)

    def _flush(self, bucket: int) -> None:
        text = self._pending[bucket].take()
        if not text or self._file is None:
            return
        packed = zstandard.ZstdCompressor(level=1).compress(text)
        start = self._file.seek(0, 2)
        self._file.write(packed)
        self._chunks[bucket].append((start, len(packed)))

    def _read(self, start: int, size: int) -> Batch:
        assert self._file is not None
        self._file.seek(start)
        return read_lines(zstandard.ZstdDecompressor().decompress(self._file.read(size)).split(b"\n"))


def _text_in(batch: Batch) -> int:
    """Characters of text in a batch, told from every eighth of its spans where there are many."""
    step = 8 if len(batch.spans) > 100 else 1
    attributes = [span.attributes for span in batch.spans[::step]] + [
        record.attributes for record in batch.logs[::step]
    ]
    return step * sum(map(_characters, attributes))


def _characters(attributes: Attributes) -> int:
    return 400 + sum([len(value) for value in attributes.values() if type(value) is str])


def _home_of(record: LogRecord) -> bytes:
    """Records of a trace lie with it; those of none with what they name as their session."""
    if record.trace_id:
        return record.trace_id.encode()
    attributes = record.attributes
    return str(attributes.get("session.id", attributes.get("conversation.id", ""))).encode()
