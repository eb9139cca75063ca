"""The protobuf wire format by hand: to tell what a body is, and to save what is good in a broken one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from rejudge.otel.refusal import Malformed

Kind: TypeAlias = Literal["traces", "logs", "metrics"]
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """One field of a message: its number, wire type, and where its content lies."""

    number: int
    wire_type: int
    start: int
    end: int


class Record(NamedTuple):
    """One span or log record in its bytes, with the bytes of the resource and the scope around it."""

    content: bytes
    offset: int
    resource: bytes
    scope: bytes


def fields(data: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of a message.

    Raises:
        Malformed: Where the bytes stop being protobuf, after the fields before that.
    """
    position, end = start, len(data) if end is None else end
    while position < end:
        key, position = _varint(data, position, end)
        number, wire_type = key >> 3, key & 7
        if number == 0:
            raise Malformed(f"not protobuf at byte {position}")
        if wire_type == _BYTES:
            length, position = _varint(data, position, end)
        elif wire_type == _FIXED64:
            length = 8
        elif wire_type == _FIXED32:
            length = 4
        elif wire_type == _VARINT:
            _, after = _varint(data, position, end)
            length = after - position
        else:
            raise Malformed(f"not protobuf at byte {position}")
        if position + length > end:
            # Given out cut short, so that what is whole inside it can still be read.
            yield Field(number, wire_type, position, end)
            raise Malformed(f"cut short at byte {end}: {position + length - end} bytes are missing")
        yield Field(number, wire_type, position, position + length)
        position += length


def kind_of(body: bytes) -> Kind | None:
    """What an export request holds, told from its first record; None where there is none to tell from."""
    try:
        for resource in _submessages(body, 0, len(body), 1):
            for scope in _submessages(body, resource.start, resource.end, 2):
                for record in _submessages(body, scope.start, scope.end, 2):
                    return _record_kind(body, record)
    except Malformed:
        return None
    return None


def looks_like_request(body: bytes) -> bool:
    """True where the bytes begin as an export request does: a resource with scopes in it."""
    try:
        for field in fields(body):
            if field.number != 1 or field.wire_type != _BYTES:
                return False
            inner = list(_leniently(body, field))
            return bool(inner) and all(part.number in (1, 2, 3, 1000) and part.wire_type == _BYTES for part in inner)
    except Malformed:
        return False
    return False


def records(body: bytes, refuse: Callable[[Malformed], None]) -> Iterator[Record]:
    """Every span or log record of a request, as far as its bytes go."""
    for resource in _submessages(body, 0, len(body), 1, refuse):
        resource_bytes = _first(body, resource, 1)
        for scope in _submessages(body, resource.start, resource.end, 2, refuse):
            scope_bytes = _first(body, scope, 1)
            for record in _submessages(body, scope.start, scope.end, 2, refuse):
                yield Record(body[record.start : record.end], record.start, resource_bytes, scope_bytes)


def resource_attributes(resource: bytes) -> Any:
    """The attributes of a resource message; none where it cannot be read."""
    try:
        return Resource.FromString(resource).attributes
    except DecodeError:
        return ()


def scope_of(scope: bytes) -> tuple[str, str]:
    """Name and version of a scope message; empty where it cannot be read."""
    try:
        message = InstrumentationScope.FromString(scope)
    except DecodeError:
        return "", ""
    return message.name, message.version


Framing: TypeAlias = Literal["bare", "fixed", "varint"]


def framing_of(head: bytes) -> Framing | None:
    """How the requests of a file are set apart: not at all, by 4 big-endian bytes of length, or by a varint."""
    if looks_like_request(head):
        return "bare"
    if len(head) > 4 and int.from_bytes(head[:4], "big") > 0 and looks_like_request(head[4:][: _length(head)]):
        return "fixed"
    try:
        length, start = _varint(head, 0, len(head))
    except Malformed:
        return None
    return "varint" if length > 0 and looks_like_request(head[start : start + length]) else None


def _length(head: bytes) -> int:
    return int.from_bytes(head[:4], "big")


class Message(NamedTuple):
    """One export request, or one resource of a bare file, and where it began."""

    offset: int
    content: bytes


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


def messages(
    stream: _Readable, framing: Framing, limit: int, refuse: Callable[[str, int], None]
) -> Iterator[Message]:
    """The requests of a file, one after the other.

    A bare file is given out resource by resource: requests simply written behind each other are one long request.

    Args:
        stream: The file, at its beginning.
        framing: What `framing_of` said.
        limit: Bytes of one message beyond which the rest of the file is refused.
        refuse: Told why reading ended before the end, and at which byte.
    """
    offset = 0
    while True:
        prefix, length = _prefix(stream, framing)
        if not prefix:
            return
        if length is None:
            refuse("not protobuf: no length where one belongs", offset)
            return
        if length > limit:
            refuse(f"a message of {length} bytes, more than {limit}", offset)
            return
        content = _exactly(stream, length)
        whole = prefix + content if framing == "bare" else content
        if len(content) < length:
            refuse(f"cut short: {length - len(content)} bytes are missing", offset + len(prefix) + len(content))
        if whole:
            yield Message(offset, whole)
        if len(content) < length:
            return
        offset += len(prefix) + length


def _prefix(stream: _Readable, framing: Framing) -> tuple[bytes, int | None]:
    """What stands before a message, and the message's length; None where there is none to be read."""
    if framing == "fixed":
        prefix = _exactly(stream, 4)
        return prefix, int.from_bytes(prefix, "big") if len(prefix) == 4 else None
    prefix = b""
    if framing == "bare":
        prefix = _exactly(stream, 1)
        if prefix and prefix != b"\x0a":
            return prefix, None
    start = len(prefix)
    while len(prefix) - start < 10:
        byte = _exactly(stream, 1)
        if not byte:
            return prefix, None
        prefix += byte
        if byte[0] < 0x80:
            return prefix, _varint(prefix, start, len(prefix))[0]
    return prefix, None


def _exactly(stream: _Readable, size: int) -> bytes:
    pieces = []
    while size > 0:
        piece = stream.read(min(size, 1 << 20))
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _submessages(
    data: bytes, start: int, end: int, number: int, refuse: Callable[[Malformed], None] | None = None
) -> Iterator[Field]:
    try:
        for field in fields(data, start, end):
            if field.number == number and field.wire_type == _BYTES:
                yield field
    except Malformed as error:
        if refuse is None:
            raise
        # The innermost message says it; the ones around it are cut at the same byte.
        if not str(error).startswith("cut short") or (end == len(data) and number == 1):
            refuse(error)


def _leniently(data: bytes, field: Field) -> Iterator[Field]:
    try:
        yield from fields(data, field.start, field.end)
    except Malformed:
        return


def _first(data: bytes, parent: Field, number: int) -> bytes:
    for field in _leniently(data, parent):
        if field.number == number and field.wire_type == _BYTES:
            return data[field.start : field.end]
    return b""


def _record_kind(data: bytes, record: Field) -> Kind:
    for field in _leniently(data, record):
        size = field.end - field.start
        if field.wire_type == _BYTES and field.number == 1:
            return "traces" if size == 16 and _has_span_id(data, record) else "metrics"
        if field.wire_type == _FIXED64 and field.number in (1, 11):
            return "logs"
        break
    return "logs" if _has_log_fields(data, record) else "traces"


def _has_span_id(data: bytes, record: Field) -> bool:
    return any(field.number == 2 and field.end - field.start == 8 for field in _leniently(data, record))


def _has_log_fields(data: bytes, record: Field) -> bool:
    return any(
        (field.number, field.wire_type) in ((11, _FIXED64), (2, _VARINT), (9, _BYTES), (10, _BYTES))
        and not (field.number == 9 and field.wire_type != _BYTES)
        for field in _leniently(data, record)
    ) and not _has_span_id(data, record)


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 63:
            break
    raise Malformed(f"not protobuf at byte {position}")
