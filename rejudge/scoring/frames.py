"""Frames between rejudge and an evaluator's process: JSON with bytes behind it. Nothing is ever unpickled.

A frame is two big-endian 32-bit lengths (JSON, bytes), the JSON, and the bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Final, NamedTuple

import orjson

from rejudge.models.wire import WireSession

HEAD: Final = struct.Struct(">II")
REPLY_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of a frame that the parent accepts: more is no frame but noise."""


class ProtocolError(Exception):
    """What arrived is no frame: something else wrote into the pipe."""


class Frame(NamedTuple):
    """One message and the bytes behind it."""

    message: Any
    data: bytes


def pack(message: bytes, blobs: Sequence[bytes] = ()) -> bytes:
    """One frame of a message that is JSON already."""
    return b"".join((HEAD.pack(len(message), sum(map(len, blobs))), message, *blobs))


def read_frame(stream: BinaryIO) -> Frame | None:
    """The next frame of a blocking stream; None at its end."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    message, data = HEAD.unpack(head)
    return Frame(orjson.loads(stream.read(message)), stream.read(data) if data else b"")


class FrameBuffer:
    """Cuts frames out of bytes as they arrive."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, received: bytes) -> list[bytes]:
        """The JSON of each frame that is complete now.

        Raises:
            ProtocolError: Where the lengths cannot be true.
        """
        buffer = self._bytes
        buffer += received
        start, found = 0, []
        while len(buffer) - start >= HEAD.size:
            message, data = HEAD.unpack_from(buffer, start)
            if message + data > REPLY_LIMIT:
                raise ProtocolError(f"a frame of {message + data} bytes")
            end = start + HEAD.size + message + data
            if len(buffer) < end:
                break
            found.append(bytes(buffer[start + HEAD.size : start + HEAD.size + message]))
            start = end
        del buffer[:start]
        return found


def pack_session(wire: WireSession, scorings: Sequence[tuple[int, int]]) -> bytes:
    """The frame that asks for scorings (sequence number, assignment number) on one session."""
    blobs = [wire.payload, wire.baseline_payload, *wire.packs]
    message = {
        "do": "score",
        "scorings": scorings,
        "facts": _plain(wire.facts),
        "baseline": None if wire.baseline_facts is None else _plain(wire.baseline_facts),
        "fields": wire.node_fields,
        "rows": wire.node_rows,
        "blobs": [-1 if blob is None else len(blob) for blob in blobs],
    }
    encoded = orjson.dumps(message, default=_listed)
    return pack(encoded, [blob for blob in blobs if blob])


def unpack_session(frame: Frame) -> WireSession:
    """The session in such a frame."""
    message = frame.message
    blobs: list[bytes | None] = []
    start = 0
    for length in message["blobs"]:
        blobs.append(None if length < 0 else frame.data[start : start + length])
        start += max(length, 0)
    return WireSession(
        facts=message["facts"],
        node_fields=tuple(message["fields"]),
        node_rows=message["rows"],
        packs=blobs[2:],
        payload=blobs[0],
        baseline_facts=message["baseline"],
        baseline_payload=blobs[1],
    )


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    return facts if isinstance(facts, dict) else dict(facts)


def _listed(value: Any) -> Any:
    # Database rows are sequences of their own class; money is a Decimal.
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)
