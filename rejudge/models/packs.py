"""Payload packs: the payloads of many nodes in one compressed frame.

A conversation whose every call repeats its history compresses to little more than its last turn, since all its
calls share one zstd window. A pack is content-addressed: two sessions that share payloads can share packs.

Layout of a frame, before compression: a 4-byte big-endian length, that many bytes of JSON (an array with the length
of each blob), then the blobs, each the JSON of one payload.
"""

from __future__ import annotations

import hashlib
import struct
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
import zstandard

PACK_BYTES: Final = 8 * 1024 * 1024
"""Uncompressed size at which a pack is closed."""

_LEVEL: Final = 3
_LENGTH: Final = struct.Struct(">I")
_SLOT_BITS: Final = 32
_own = threading.local()

Ref = int
"""Address of a blob in the packs of its session: pack number in the high bits, slot in the low 32."""


@dataclass(frozen=True, slots=True)
class Pack:
    """One compressed frame and its SHA-256 (hex): the same blobs, compressed alike, are the same pack."""

    digest: str
    data: bytes


class PackWriter:
    """Collects blobs into packs; give it every blob, then take `packs`."""

    def __init__(self, shared: Sequence[Pack] = ()) -> None:
        """
        Args:
            shared: Packs that exist already: a blob they hold is pointed at, not stored again.
        """
        self._packs = list(shared)
        self._known = _index_blobs(self._packs)
        self._used = [False] * len(self._packs)
        self._blobs: list[bytes] = []
        self._size = 0

    def add(self, blob: bytes) -> Ref:
        """The address at which `blob` can be read back."""
        known = self._known.get(blob) if self._known else None
        if known is not None:
            self._used[known >> _SLOT_BITS] = True
            return known
        if self._size and self._size + len(blob) > PACK_BYTES:
            self._close()
        self._blobs.append(blob)
        self._size += len(blob)
        return (len(self._packs) << _SLOT_BITS) | (len(self._blobs) - 1)

    def packs(self) -> list[Pack | None]:
        """All packs in address order; None stands where a shared pack turned out to hold nothing of use."""
        self._close()
        return [pack if used else None for pack, used in zip(self._packs, self._used, strict=True)]

    def _close(self) -> None:
        if not self._blobs:
            return
        self._packs.append(pack_blobs(self._blobs))
        self._used.append(True)
        self._blobs, self._size = [], 0


def pack_blobs(blobs: Sequence[bytes]) -> Pack:
    """One pack of these blobs, in order."""
    header = orjson.dumps([len(blob) for blob in blobs])
    data = _compressor().compress(b"".join((_LENGTH.pack(len(header)), header, *blobs)))
    return Pack(hashlib.sha256(data).hexdigest(), data)


def _compressor() -> zstandard.ZstdCompressor:
    # One for each thread: making one takes as long as compressing a small pack, and two threads in one crash.
    made: zstandard.ZstdCompressor | None = getattr(_own, "compressor", None)
    if made is None:
        made = _own.compressor = zstandard.ZstdCompressor(level=_LEVEL)
    return made


def unpack_blobs(data: bytes) -> list[memoryview]:
    """The blobs of a pack, in order."""
    frame = memoryview(zstandard.ZstdDecompressor().decompress(data))
    (header_length,) = _LENGTH.unpack_from(frame)
    start = _LENGTH.size + header_length
    blobs = []
    for length in orjson.loads(frame[_LENGTH.size : start]):
        blobs.append(frame[start : start + length])
        start += length
    return blobs


class PayloadReader:
    """Reads payloads out of packs; a pack is decompressed when the first of its blobs is asked for."""

    __slots__ = ("_blobs", "_packs")

    def __init__(self, packs: Sequence[bytes | None]) -> None:
        self._packs = packs
        self._blobs: dict[int, list[memoryview]] = {}

    def read(self, ref: Ref | None) -> Any:
        """The JSON value at an address; None for no address."""
        if ref is None:
            return None
        number = ref >> _SLOT_BITS
        blobs = self._blobs.get(number)
        if blobs is None:
            data = self._packs[number]
            if data is None:
                raise LookupError(f"payload pack {number} is missing")
            blobs = self._blobs[number] = unpack_blobs(data)
        return orjson.loads(blobs[ref & 0xFFFFFFFF])

    def node_payload(self, payload_ref: Ref | None, attributes_ref: Ref | None) -> dict[str, Any]:
        """The lazy fields of a node: ``inputs``, ``outputs``, ``attributes``."""
        pair = self.read(payload_ref)
        inputs, outputs = pair if pair is not None else (None, None)
        return {"inputs": inputs, "outputs": outputs, "attributes": self.read(attributes_ref)}


def _index_blobs(packs: Iterable[Pack]) -> dict[bytes, Ref]:
    known: dict[bytes, Ref] = {}
    for number, pack in enumerate(packs):
        for slot, blob in enumerate(unpack_blobs(pack.data)):
            known.setdefault(bytes(blob), (number << _SLOT_BITS) | slot)
    return known
