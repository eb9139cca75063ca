"""A session as it is stored, before anything is decoded: what the store reads and an evaluator's process is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, Final

import orjson

from rejudge.models.packs import PackWriter, PayloadReader
from rejudge.models.session import Node, Session, SessionView

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_REFS: Final = ("payload_ref", "attributes_ref")
_RENAMED: Final = {"position": "index"}


@dataclass(frozen=True, slots=True)
class WireSession:
    """One stored session.

    Facts may stand as the database gave them: times as ``datetime``, ISO text (without a zone: UTC) or microseconds
    since 1970, money as ``Decimal`` or text, sequences as lists or JSON text, flags as 0 and 1. What is not a field
    of `Session` or `Node` is left out, what is missing takes the field's default.
    """

    facts: Mapping[str, Any]
    """The session's own fields, without its payload."""
    node_fields: tuple[str, ...] = ()
    """Names of the columns of `node_rows`: fields of `Node`, and ``payload_ref`` and ``attributes_ref``."""
    node_rows: Sequence[Sequence[Any]] = ()
    """The nodes in order."""
    packs: Sequence[bytes | None] = ()
    """The session's payload packs, by position."""
    payload: bytes | None = None
    """zstd over the JSON of ``[inputs, outputs, metadata]``."""
    baseline_facts: Mapping[str, Any] | None = None
    """The session that a replay was made from; None where there is none."""
    baseline_payload: bytes | None = None


def view_of(wire: WireSession) -> SessionView:
    """The session as an evaluator reads it; payloads are decoded when they are touched."""
    nodes: list[Node] = []
    if wire.node_rows:
        plan = _plan(tuple(wire.node_fields))
        nodes = list(plan.nodes(wire.node_rows, PayloadReader(wire.packs)))
    baseline = None
    if wire.baseline_facts is not None:
        baseline = session_of(wire.baseline_facts, wire.baseline_payload)
    return SessionView(session_of(wire.facts, wire.payload), nodes, baseline=baseline)


def wire_of(view: SessionView) -> WireSession:
    """A session that is not stored, as an evaluator's process is sent it."""
    writer = PackWriter()
    fields = tuple(name for name in Node.model_fields if name not in Node.lazy_fields)
    rows = []
    for node in view.nodes:
        payload = writer.add(orjson.dumps([node.inputs, node.outputs], default=str))
        attributes = None if node.attributes is None else writer.add(orjson.dumps(node.attributes, default=str))
        rows.append((*(getattr(node, name) for name in fields), payload, attributes))
    return WireSession(
        facts=_facts(view.session),
        node_fields=(*fields, "payload_ref", "attributes_ref"),
        node_rows=rows,
        packs=[None if pack is None else pack.data for pack in writer.packs()],
        payload=_packed_payload(view.session),
        baseline_facts=None if view.baseline is None else _facts(view.baseline),
        baseline_payload=None if view.baseline is None else _packed_payload(view.baseline),
    )


def session_of(facts: Mapping[str, Any], payload: bytes | None) -> Session:
    """A session's own record out of stored facts."""
    known = dict(_SESSION_DEFAULTS)
    for name, value in facts.items():
        if name in known:
            convert = _SESSION_CONVERSIONS.get(name)
            known[name] = value if convert is None else convert(value)
    return Session.from_facts(known, partial(_session_payload, payload))


def _session_payload(payload: bytes | None) -> dict[str, Any]:
    if not payload:
        return {}
    import zstandard  # only where a payload is touched

    values = orjson.loads(zstandard.ZstdDecompressor().decompress(payload))
    return dict(zip(("inputs", "outputs", "metadata"), values, strict=True))


def _facts(session: Session) -> dict[str, Any]:
    return {name: getattr(session, name) for name in Session.model_fields if name not in Session.lazy_fields}


def _packed_payload(session: Session) -> bytes:
    values = [session.inputs, session.outputs, session.metadata]
    import zstandard

    return zstandard.ZstdCompressor().compress(orjson.dumps(values, default=str))


@dataclass(frozen=True, slots=True)
class _Plan:
    """How rows become nodes."""

    names: tuple[str, ...]
    columns: tuple[int, ...]
    """Where the facts of these names stand."""
    conversions: tuple[tuple[int, Callable[[Any], Any]], ...]
    missing: Mapping[str, Any]
    """The facts that no column holds."""
    payload: int | None
    attributes: int | None

    def nodes(self, rows: Sequence[Sequence[Any]], reader: PayloadReader) -> Iterator[Node]:
        # Column by column: there are few kinds of values, and many rows.
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        for column, convert in self.conversions:
            columns[column] = list(map(convert, columns[column]))
        nothing = (None,) * len(rows)
        payloads = nothing if self.payload is None else columns[self.payload]
        attributes = nothing if self.attributes is None else columns[self.attributes]
        facts_of_rows = zip(*(columns[column] for column in self.columns), strict=True)
        for values, payload, more in zip(facts_of_rows, payloads, attributes, strict=True):
            facts = dict(zip(self.names, values, strict=False))  # strict costs a quarter more
            if self.missing:
                facts.update(self.missing)
            yield Node.from_facts(facts, partial(reader.node_payload, payload, more))


@lru_cache(maxsize=16)
def _plan(fields: tuple[str, ...]) -> _Plan:
    names = [_RENAMED.get(field, field) for field in fields]
    known = [(column, name) for column, name in enumerate(names) if name in _NODE_DEFAULTS]
    return _Plan(
        names=tuple(name for _, name in known),
        columns=tuple(column for column, _ in known),
        conversions=tuple((column, _NODE_CONVERSIONS[name]) for column, name in known if name in _NODE_CONVERSIONS),
        missing={name: default for name, default in _NODE_DEFAULTS.items() if name not in names},
        payload=names.index("payload_ref") if "payload_ref" in names else None,
        attributes=names.index("attributes_ref") if "attributes_ref" in names else None,
    )


def _time(value: Any) -> datetime | None:
    if value is None:
        return None
    if type(value) is str and value[-6:] == "+00:00":
        return datetime.fromisoformat(value)
    if isinstance(value, int):
        return _EPOCH + timedelta(microseconds=value)
    if isinstance(value, str):
        # Adding the zone to the text costs a fifth of `replace(tzinfo=UTC)`.
        zoned = value[-1:] == "Z" or (value[-3:-2] == ":" and value[-6:-5] in ("+", "-"))
        value = datetime.fromisoformat(value if zoned else value + "+00:00")
    time: datetime = value
    if time.tzinfo is UTC:
        return time
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _money(value: Any) -> Decimal | None:
    if value is None:
        return None
    amount = value if isinstance(value, Decimal) else Decimal(str(value))
    # A database may pad with zeros: each of them is to give the same digits.
    return amount.normalize() + 0 if amount else Decimal(0)


def _texts(value: Any) -> tuple[str, ...]:
    if not value:
        return ()
    return tuple(orjson.loads(value) if isinstance(value, (str, bytes)) else value)


def _defaults(record: type[Node] | type[Session]) -> dict[str, Any]:
    required = {"id": "", "index": 0, "node_type": "span"}
    return {
        name: required.get(name) if field.is_required() else field.default
        for name, field in record.model_fields.items()
        if name not in record.lazy_fields
    }


_NODE_DEFAULTS: Final = _defaults(Node)
_SESSION_DEFAULTS: Final = _defaults(Session)
_NODE_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "started_at": _time,
    "ended_at": _time,
    "cost": _money,
    "link_ids": _texts,
    "inferred": bool,
}
_SESSION_CONVERSIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "started_at": _time,
    "ended_at": _time,
    "cost": _money,
    "recorded_cost": _money,
    "tool_names": _texts,
    "agents": _texts,
    "models": _texts,
    "providers": _texts,
    "tags": _texts,
    "complete": bool,
}
