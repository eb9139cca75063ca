"""The spool's files: requests one behind the other, each with its length and checksum.

A record is a fixed header, then the body as it came over the wire. What a crash cut short at the end of a file was
never acknowledged, and is left out when the file is read.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from rejudge.otel.receiver.answers import Form, Kind

SUFFIX: Final = ".spool"
_MAGIC: Final = b"RJS1"
# Magic, checksum of all that follows it, kind, form, length of the encoding's name, decoded size, body length.
_HEADER: Final = struct.Struct(">4sIBBHQQ")
_CHECKED_FROM: Final = 8
_KINDS: Final[tuple[Kind, ...]] = ("traces", "logs", "metrics")
_FORMS: Final[tuple[Form, ...]] = ("protobuf", "json")


@dataclass(frozen=True, slots=True)
class Record:
    """One request as it was received."""

    kind: Kind
    form: Form
    encoding: str
    """The Content-Encoding of `body`; empty for none."""
    body: bytes
    size: int
    """Bytes of the body when decompressed."""

    @property
    def stored_bytes(self) -> int:
        """What it takes in a file."""
        return _HEADER.size + len(self.encoding.encode()) + len(self.body)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in the spool: everything before it is done with."""

    segment: int
    offset: int


def pack(record: Record) -> bytes:
    """The bytes of a record."""
    encoding = record.encoding.encode()
    rest = _HEADER.pack(
        _MAGIC,
        0,
        _KINDS.index(record.kind),
        _FORMS.index(record.form),
        len(encoding),
        record.size,
        len(record.body),
    )[_CHECKED_FROM:]
    checked = b"".join((rest, encoding, record.body))
    return _MAGIC + struct.pack(">I", zlib.crc32(checked)) + checked


def read_records(path: Path, offset: int = 0) -> Iterator[tuple[Record, int]]:
    """The whole records of a file from an offset on, each with the offset behind it."""
    with path.open("rb") as file:
        file.seek(offset)
        while (record := _read(file)) is not None:
            offset += record.stored_bytes
            yield record, offset


def segment_path(folder: Path, number: int) -> Path:
    """Where a segment's file is."""
    return folder / f"{number:012d}{SUFFIX}"


def segment_numbers(folder: Path) -> list[int]:
    """The segments of a folder, oldest first."""
    return sorted(int(path.stem) for path in folder.glob(f"*{SUFFIX}") if path.stem.isdecimal())


def sync_folder(folder: Path) -> None:
    """Makes new and removed file names durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(file: BinaryIO) -> Record | None:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    magic, checksum, kind, form, encoding_length, size, body_length = _HEADER.unpack(header)
    remaining = os.fstat(file.fileno()).st_size - file.tell()
    if magic != _MAGIC or encoding_length + body_length > remaining:
        return None
    encoding, body = file.read(encoding_length), file.read(body_length)
    checked = zlib.crc32(body, zlib.crc32(encoding, zlib.crc32(header[_CHECKED_FROM:])))
    if checked != checksum or kind >= len(_KINDS) or form >= len(_FORMS):
        return None
    return Record(_KINDS[kind], _FORMS[form], encoding.decode(), body, size)
