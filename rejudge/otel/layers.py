"""What lies around a trace's bytes, told by its first ones and taken off as a stream: compression, and UTF-16."""

from __future__ import annotations

import codecs
import io
import zlib
from collections.abc import Callable
from typing import IO, Any, Final, Protocol

import zstandard

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_SKIPPABLE: Final = tuple(bytes([0x50 + number, 0x2A, 0x4D, 0x18]) for number in range(16))
MAX_LAYERS: Final = 4
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""What text redirected by PowerShell begins with."""
_FREE: Final = 64 * 1024 * 1024
"""Bytes of output before the ratio is looked at."""
_RATIO: Final = {"gzip": 400, "zstd": 5000}
"""How many bytes one compressed byte may become; gzip ends at 1032, traces stay below a tenth of these."""
_PIECE: Final = 1024
"""Compressed bytes taken at once: zstd may make 32 KiB out of each."""


class Stream(Protocol):
    """What can be read from: a file, standard input, a layer."""

    def read(self, size: int = ..., /) -> bytes:
        """At most ``size`` bytes; empty at the end."""


class _Engine(Protocol):
    @property
    def unused_data(self) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    def decompress(self, data: bytes, /) -> bytes: ...


class _Unwrapped(io.RawIOBase):
    """A raw stream that is made piece by piece."""

    def __init__(self, source: Stream) -> None:
        super().__init__()
        self._source = source
        self._ready = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._ended:
            self._more()
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _more(self) -> None:
        """Add to what is ready, or find that it has ended."""
        raise NotImplementedError


class Layer(_Unwrapped):
    """The decompressed bytes of a stream: any number of members behind each other, cut ones as far as they go."""

    def __init__(self, source: Stream, kind: str, head: bytes, failed: Callable[[str], None]) -> None:
        super().__init__(source)
        self._kind = kind
        self._failed = failed
        self._pending = head
        self._engine: _Engine | None = None
        self._taken = 0
        self._given = 0

    def _more(self) -> None:
        if not self._pending:
            self._pending = self._source.read(64 * 1024)
        if not self._pending:
            self._end("cut short: the compressed data ends in the middle" if self._engine else None)
            return
        if self._engine is None:
            self._engine = _engine(self._kind)
        piece, self._pending = self._pending[:_PIECE], self._pending[_PIECE:]
        try:
            self._ready = self._engine.decompress(piece)
        except (zlib.error, zstandard.ZstdError, EOFError) as error:
            self._end(f"damaged {self._kind} data at byte {self._taken}: {error}")
            return
        self._taken += len(piece)
        self._given += len(self._ready)
        if self._engine.eof:
            self._pending = self._engine.unused_data + self._pending
            self._taken -= len(self._engine.unused_data)
            self._engine = None
            if self._kind == "gzip" and self._pending[:1] == b"\0":
                self._pending = self._pending.lstrip(b"\0")  # padding, as tape tools write it
        if self._given > _FREE and self._given > self._taken * _RATIO[self._kind]:
            self._ready = b""
            self._end(
                f"a decompression bomb: {self._taken} bytes of {self._kind} became {self._given}, and more follows"
            )

    def _end(self, reason: str | None) -> None:
        self._ended = True
        if reason is not None:
            self._failed(reason)


def decompressed(source: Stream, failed: Callable[[str], None]) -> io.BufferedReader:
    """A stream without its compression, ready to be peeked into.

    Args:
        source: What to read.
        failed: Told why, when a layer ends before its end; what came before was given out.
    """
    stream: IO[bytes] | Stream = source
    for _ in range(MAX_LAYERS):
        raw: io.RawIOBase = _Raw(stream)
        reader: io.BufferedReader = io.BufferedReader(raw, 256 * 1024)
        head = reader.peek(8)[:8]
        kind = _kind_of(head)
        if kind is None and head.startswith(_UTF_16):
            return io.BufferedReader(_Recoded(reader), 256 * 1024)
        if kind is None:
            return reader
        stream = Layer(reader, kind, b"", failed)
    failed(f"more than {MAX_LAYERS} layers of compression")
    return io.BufferedReader(io.BytesIO(b""))


def _kind_of(head: bytes) -> str | None:
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or head.startswith(_SKIPPABLE):
        return "zstd"
    return None


def _engine(kind: str) -> _Engine:
    if kind == "gzip":
        return zlib.decompressobj(wbits=31)
    return zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()


class _Recoded(_Unwrapped):
    """UTF-16 text as UTF-8; what is no character becomes U+FFFD."""

    def __init__(self, source: Stream) -> None:
        super().__init__(source)
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def _more(self) -> None:
        piece = self._source.read(64 * 1024)
        self._ended = not piece
        self._ready = self._decoder.decode(piece, final=self._ended).encode("utf-8", "replace")


class _Raw(io.RawIOBase):
    """Anything with ``read`` as a raw stream."""

    def __init__(self, source: Stream) -> None:
        super().__init__()
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._source.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)
