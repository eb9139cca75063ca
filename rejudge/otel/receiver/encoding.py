"""Content encodings of a request: gzip, deflate and zstd, never to more than a limit."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

import zstandard

from rejudge.otel.receiver.refused import Refused

ACCEPTED: Final = "gzip, deflate, zstd"
"""For the header that names what a request may be encoded in."""

_STEP: Final = 256 * 1024
# A zstd block of 128 KiB may take four bytes: this many bytes at a time cannot overshoot a limit by much.
_ZSTD_STEP: Final = 256
_ZSTD_WINDOW: Final = 128 * 1024 * 1024
_RAW_DEFLATE: Final = -zlib.MAX_WBITS
_GZIP: Final = zlib.MAX_WBITS | 16


def decompress(body: bytes, encoding: str, *, limit: int) -> bytes:
    """The body without its content encoding.

    Args:
        encoding: The header's value; empty or ``identity`` for none.
        limit: Bytes that may come out.

    Raises:
        Refused: 415 for another encoding, 413 beyond the limit, 400 for a body that is damaged or cut short.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    decode = _DECODERS.get(name)
    if decode is None:
        message = f"Content-Encoding {encoding[:64]!r} is not supported: use one of {ACCEPTED}"
        raise Refused(415, message, headers={"Accept-Encoding": ACCEPTED})
    try:
        return decode(body, limit)
    except (zlib.error, zstandard.ZstdError) as error:
        raise Refused(400, f"the body is not valid {name}: {error}") from error


def _inflate_gzip(body: bytes, limit: int) -> bytes:
    # A gzip file may be several, one behind the other.
    found: list[bytes] = []
    while True:
        piece, body = _inflate(body, limit - sum(map(len, found)), _GZIP, "gzip")
        found.append(piece)
        if not body.strip(b"\0"):
            return b"".join(found)


def _inflate_deflate(body: bytes, limit: int) -> bytes:
    # The standard means zlib's format; some clients send the bare stream.
    zlib_header = len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflate(body, limit, zlib.MAX_WBITS if zlib_header else _RAW_DEFLATE, "deflate")[0]


def _inflate(body: bytes, limit: int, window: int, name: str) -> tuple[bytes, bytes]:
    stream = zlib.decompressobj(window)
    found: list[bytes] = []
    size = 0
    rest = body
    while not stream.eof:
        piece = stream.decompress(rest, min(_STEP, limit - size + 1))
        found.append(piece)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        rest = stream.unconsumed_tail
        if not rest and not piece and not stream.eof:
            raise _cut_short(name)
    return b"".join(found), stream.unused_data


def _decompress_zstd(body: bytes, limit: int) -> bytes:
    found: list[bytes] = []
    size = position = 0
    while position < len(body):
        stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()
        while not stream.eof:
            step = body[position : position + _ZSTD_STEP]
            if not step:
                raise _cut_short("zstd")
            position += len(step)
            piece = stream.decompress(step)
            found.append(piece)
            size += len(piece)
            if size > limit:
                raise _too_large(limit)
        position -= len(stream.unused_data)
    return b"".join(found)


def _too_large(limit: int) -> Refused:
    return Refused(413, f"the body is larger than {limit} bytes when decompressed: send smaller batches")


def _cut_short(name: str) -> Refused:
    return Refused(400, f"the body is not valid {name}: it is cut short")


_DECODERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "gzip": _inflate_gzip,
    "x-gzip": _inflate_gzip,
    "deflate": _inflate_deflate,
    "zstd": _decompress_zstd,
}
