"""From the body of a request to spans and log records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, SupportsIndex

from rejudge.otel.containers import otlp_json, otlp_protobuf
from rejudge.otel.receiver.answers import Form, Kind
from rejudge.otel.receiver.refused import Refused
from rejudge.otel.refusal import Malformed
from rejudge.otel.span import Batch
from rejudge.otel.text import parse_document

_LISTS: Final = ("resourceSpans", "resourceLogs", "resource_spans", "resource_logs")
_REASON_LIMIT: Final = 200


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be taken of a body."""

    accepted: int
    rejected: int
    reason: str = ""
    """Why the first of the rejected was."""


def decode(body: bytes, kind: Kind, form: Form, batch: Batch) -> list[Malformed]:
    """Appends what a body holds to a batch; returns what could not be read.

    Raises:
        Refused: 400 where nothing in it could.
    """
    refused: list[Malformed] = []
    before = len(batch)
    if form == "json":
        otlp_json.decode(_document(body), batch, refused.append)
    else:
        otlp_protobuf.decode_request(body, batch, refused.append, kind=kind)
    # A refusal that names no span is about the body itself.
    if len(batch) == before and refused and all(one.span is None for one in refused):
        raise Refused(400, f"the body cannot be decoded: {_short(refused[0])}")
    return refused


def inspect(body: bytes, kind: Kind, form: Form) -> Verdict:
    """What `decode` would make of a body, in a fraction of the memory: nothing is kept.

    Raises:
        Refused: 400 where nothing in it can be read.
    """
    batch = Batch(spans=_Counted(), logs=_Counted())
    refused = decode(body, kind, form, batch)
    return Verdict(len(batch), len(refused), _short(refused[0]) if refused else "")


def _document(body: bytes) -> dict[str, Any]:
    if not body.strip():
        return {}
    try:
        document = parse_document(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {str(error)[:_REASON_LIMIT]}") from error
    if not isinstance(document, dict):
        raise Refused(400, f"the body is a JSON {type(document).__name__}, not an export request")
    for name in _LISTS:
        if not isinstance(document.get(name, []), list | None):
            raise Refused(400, f"{name} is not a list")
    return document


def _short(error: Malformed) -> str:
    where = f"span {error.span}: " if error.span else ""
    return f"{where}{error.reason}"[:_REASON_LIMIT]


class _Counted(list[Any]):
    """A list that counts what is appended and lets go of it."""

    _count = 0

    def append(self, item: Any, /) -> None:
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: SupportsIndex | slice, /) -> Any:
        raise IndexError("only counted, not kept")
