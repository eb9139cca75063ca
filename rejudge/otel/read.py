"""Reading traces from wherever they lie, as batches of normalised spans, in bounded memory."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from rejudge.otel.collecting import CollectingLater
from rejudge.otel.containers import decode_document
from rejudge.otel.layers import decompressed
from rejudge.otel.paths import expand
from rejudge.otel.refusal import Malformed, Refusal
from rejudge.otel.span import Batch
from rejudge.otel.splitting import documents, span_named_in, values
from rejudge.otel.text import parse_document

BATCH: Final = 2_000
"""Spans and records after which a batch is given out; one document may hold more."""
DOCUMENT_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a document beyond which it is taken apart instead of being parsed as a whole."""
MESSAGE_LIMIT: Final = 512 * 1024 * 1024
"""Bytes of one protobuf message beyond which it is refused."""
_CHUNK: Final = 1024 * 1024
_MOST_REFUSALS: Final = 1_000
"""Refusals of one file that are told one by one."""

Refuse = Callable[[Refusal], None]


def read(
    paths: Sequence[str | Path],
    *,
    refuse: Refuse,
    stdin: BinaryIO | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Batch]:
    """The spans and log records of files, folders, globs or standard input.

    What a file holds is told by its content: OTLP as JSON, JSON lines or protobuf, the JSON of Zipkin, Jaeger, Tempo
    and the console exporter, exports of Phoenix, Langfuse, LangSmith, MLflow and Kitaru; plain, gzip or zstd.

    Args:
        paths: What to read; ``-`` is standard input.
        refuse: Told of everything that could not be read; what stands beside it is given out all the same.
        stdin: Read instead of the process's own standard input.
        progress: Told how many further bytes of the files have been read (compressed ones as they lie).
    """
    for path in expand(paths, refuse):
        try:
            if path == "-":
                yield from _read_stream(stdin or sys.stdin.buffer, path, refuse, progress)
            else:
                with open(path, "rb") as file:
                    yield from _read_stream(file, path, refuse, progress)
        except OSError as error:
            refuse(Refusal(path, f"cannot be read: {error.strerror or error}"))


def read_bytes(body: bytes, *, refuse: Refuse, path: str = "") -> Iterator[Batch]:
    """As `read`, from bytes in memory."""
    return _read_stream(io.BytesIO(body), path, refuse, None)


class _Source:
    """One file being read: its name, where its refusals go, how many there were."""

    def __init__(self, path: str, refuse: Refuse) -> None:
        self.path = path
        self._refuse = refuse
        self._count = 0
        self.found = 0
        """Documents in which something of a trace was recognised."""

    @property
    def is_silent(self) -> bool:
        """True where nothing was found and nothing refused."""
        return not self.found and not self._count

    def refuse(
        self, reason: str, *, line: int | None = None, byte: int | None = None, span: str | None = None
    ) -> None:
        self._count += 1
        if self._count <= _MOST_REFUSALS:
            self._refuse(Refusal(self.path, reason, line, byte, span))

    def close(self) -> None:
        if self._count > _MOST_REFUSALS:
            more = self._count - _MOST_REFUSALS
            self._refuse(Refusal(self.path, f"{more} more refusals in this file, not told one by one"))


class _Counted:
    """A stream that tells how much of it was read."""

    def __init__(self, stream: BinaryIO, progress: Callable[[int], None] | None) -> None:
        self._stream = stream
        self._progress = progress

    def read(self, size: int = -1, /) -> bytes:
        piece = self._stream.read(size)
        if self._progress is not None and piece:
            self._progress(len(piece))
        return piece


def _read_stream(
    stream: BinaryIO, path: str, refuse: Refuse, progress: Callable[[int], None] | None
) -> Iterator[Batch]:
    source = _Source(path, refuse)
    reader = decompressed(_Counted(stream, progress), lambda reason: source.refuse(reason))
    head = reader.peek(4096)[:65536]
    if not head:
        source.refuse("empty")
    elif _is_text(head):
        yield from _read_json(reader, source)
    elif head[:4] == b"PK\x03\x04":
        source.refuse("a ZIP archive: unpack it first")
    else:
        yield from _read_protobuf(reader, head, source)
    source.close()


def _is_text(head: bytes) -> bool:
    """False for what JSON cannot hold: control characters, and bytes that are no UTF-8."""
    sample = head[:4096]
    if sample.translate(None, _CONTROLS) != sample:
        return False
    if not sample.isascii():
        try:
            sample[: len(sample) - 4].decode()
        except UnicodeDecodeError as error:
            # A broken character inside text is told later, with its line.
            return error.start > 64 or sample.lstrip()[:1] in (b"{", b"[", b"<")
    return True


_CONTROLS: Final = bytes(set(range(32)) - {9, 10, 13, 0x1E})


def _read_json(reader: io.BufferedReader, source: _Source) -> Iterator[Batch]:
    head = reader.peek(65536).lstrip(b" \t\r\n\xef\xbb\xbf\x1e")
    if head[:1] == b"<":
        source.refuse("an HTML or XML page, not a trace")
        return
    if head and head[:1] not in b"{[" and not _is_json_value(head):
        if b"\n{" not in head and b"\n[" not in head:
            source.refuse("not a trace: text that is not JSON")
            return
        source.refuse("text that is not JSON was passed over", line=1)
        yield from _read_values(reader, b"", 0, source)
        return
    batch = Batch()
    number = offset = 0
    while True:
        line = reader.readline(DOCUMENT_LIMIT)
        if not line:
            break
        number += 1
        text = line.strip(b" \t\r\n\xef\xbb\xbf\x1e,")
        if not text:
            offset += len(line)
            continue
        complete = line.endswith(b"\n") or len(line) < DOCUMENT_LIMIT
        if complete:
            try:
                with CollectingLater():
                    document = parse_document(text)
                    _decode(document, batch, source, line=number)
                    del document
            except (ValueError, RecursionError) as error:
                problem = _why_not_json(error)
            else:
                offset += len(line)
                if len(batch) >= BATCH:
                    yield batch
                    batch = Batch()
                continue
        if (not source.found and (not complete or text[:1] in (b"{", b"[")) and number == 1) or not complete:
            # Not lines of documents: one document over many lines, several of those, or one too large.
            if batch:
                yield batch
            yield from _read_values(reader, line, offset, source)
            return
        yield from _salvage(text, number, problem, source)
        offset += len(line)
    if batch:
        yield batch
    if source.is_silent:
        source.refuse("empty")


def _is_json_value(head: bytes) -> bool:
    """True where the first line is JSON, though neither an object nor a list."""
    try:
        parse_document(head.split(b"\n", 1)[0].strip())
    except (ValueError, RecursionError):
        return False
    return True


def _why_not_json(error: Exception) -> str:
    return "nested too deep" if isinstance(error, RecursionError) else f"not JSON: {error}"


def _decode(
    document: object, batch: Batch, source: _Source, *, line: int | None = None, byte: int | None = None
) -> None:
    def refuse(error: Malformed) -> None:
        source.refuse(error.reason, line=line, byte=byte, span=error.span)

    if decode_document(document, batch, refuse) is None:
        source.refuse("JSON, but not of any kind of trace that is known", line=line, byte=byte)
    else:
        source.found += 1


def _salvage(text: bytes, line: int, problem: str, source: _Source) -> Iterator[Batch]:
    """What is whole in a line that is broken."""
    source.refuse(problem, line=line)
    yield from _take_apart([text], source, line=line)


def _take_apart(
    chunks: Iterator[bytes] | list[bytes], source: _Source, *, line: int | None = None
) -> Iterator[Batch]:
    batch = Batch()

    def refuse(offset: int, content: bytes, reason: str) -> None:
        source.refuse(reason, line=line, byte=None if line else offset, span=span_named_in(content))

    def refuse_span(error: Malformed) -> None:
        source.refuse(error.reason, line=line, span=error.span)

    for document in documents(chunks, refuse):
        if decode_document(document, batch, refuse_span) is not None:
            source.found += 1
        if len(batch) >= BATCH:
            yield batch
            batch = Batch()
    if batch:
        yield batch


def _read_values(reader: io.BufferedReader, first: bytes, offset: int, source: _Source) -> Iterator[Batch]:
    """Values behind each other, each over any number of lines; a huge one is taken apart."""
    chunks = _chunks(reader, first)
    batch = Batch()
    for value in values(chunks, DOCUMENT_LIMIT):
        try:
            document = parse_document(value.content)
        except (ValueError, RecursionError) as error:
            if batch:
                yield batch
                batch = Batch()
            if value.finished:
                source.refuse(_why_not_json(error), byte=offset + value.offset)
                yield from _take_apart([value.content], source)
                continue
            huge = len(value.content) > DOCUMENT_LIMIT
            if not huge:
                source.refuse("cut short: the JSON ends in the middle", byte=offset + value.offset)
            before = source.found
            yield from _take_apart(_chain(value.content, chunks), source)
            if huge and source.found == before:
                source.refuse("a large JSON document, but not of any kind of trace that is known")
            return
        _decode(document, batch, source, byte=offset + value.offset)
        if len(batch) >= BATCH:
            yield batch
            batch = Batch()
    if batch:
        yield batch
    if not source.found:
        source.refuse("not a trace: no JSON of a kind that is known")


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    for start in range(0, len(first), _CHUNK):
        yield first[start : start + _CHUNK]
    yield from rest


def _chunks(reader: io.BufferedReader, first: bytes) -> Iterator[bytes]:
    yield first
    while chunk := reader.read(_CHUNK):
        yield chunk


def _read_protobuf(reader: io.BufferedReader, head: bytes, source: _Source) -> Iterator[Batch]:
    # Only here: most traces that lie in files are JSON, and protobuf's classes take a while to build.
    from rejudge.otel.containers import otlp_protobuf, wire

    framing = wire.framing_of(head)
    if framing is None:
        source.refuse("not a trace: neither JSON nor OTLP protobuf", byte=0)
        return
    batch = Batch()
    offset = 0
    for message in wire.messages(reader, framing, MESSAGE_LIMIT, lambda reason, at: source.refuse(reason, byte=at)):
        start = offset + message.offset

        def refuse(error: Malformed, start: int = start) -> None:
            source.refuse(error.reason, byte=start, span=error.span)

        otlp_protobuf.decode_request(message.content, batch, refuse)
        source.found += 1
        if len(batch) >= BATCH:
            yield batch
            batch = Batch()
    if batch:
        yield batch
