"""JSON messages over a socket, each with its length before it."""

from __future__ import annotations

import socket
import struct
from typing import Any

import orjson

_LENGTH = struct.Struct(">Q")


def send(channel: socket.socket, message: dict[str, Any]) -> None:
    """Send one message whole.

    Raises:
        OSError: Where the other side is gone.
    """
    content = orjson.dumps(message, default=str)
    channel.sendall(_LENGTH.pack(len(content)) + content)


def receive(channel: socket.socket) -> dict[str, Any] | None:
    """The next message; None where the other side is gone."""
    head = _exactly(channel, _LENGTH.size)
    if head is None:
        return None
    content = _exactly(channel, _LENGTH.unpack(head)[0])
    if content is None:
        return None
    message: dict[str, Any] = orjson.loads(content)
    return message


def _exactly(channel: socket.socket, count: int) -> bytes | None:
    content = bytearray()
    while len(content) < count:
        try:
            chunk = channel.recv(min(count - len(content), 1 << 20))
        except ConnectionError:
            return None
        if not chunk:
            return None
        content += chunk
    return bytes(content)
