"""Reading spans fast: what to do with a span depends on its scope and the names of its attributes only.

Producers write few shapes and many spans, so the plan for a shape is made once and remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from rejudge.models.attributes import SCOPE
from rejudge.otel.conventions import CONVENTIONS
from rejudge.otel.conventions.events import read_events
from rejudge.otel.conventions.reading import Kind, Reading
from rejudge.otel.span import LogRecord, Span


class Shape(NamedTuple):
    """What to do with spans of one scope and one set of attribute names."""

    keys: tuple[str, ...]
    """Attributes that fill a field; of several for one field all are tried, best last."""
    fields: tuple[str, ...]
    """The field that each of these fills."""
    kinds: tuple[Callable[[Span, Reading], Kind | None], ...]
    readers: tuple[Callable[[Span, Reading], None], ...]
    sessions: tuple[str, ...]
    """The attributes that hold a session id, best first."""
    rest: tuple[str, ...]
    """The attributes that no field and no reader takes over."""
    convention: str


_OURS: Final = ("rejudge", "genai")
_LIMIT: Final = 20_000
_shapes: dict[tuple[str, ...], Shape] = {}


def shape_of(span: Span) -> Shape:
    """The plan for a span."""
    remembered: Shape | None = span.shape
    if remembered is not None:
        return remembered
    attributes = span.attributes
    # A span without attributes can only be told by its name.
    key = (span.scope, *attributes) if attributes else (span.scope, "", span.name)
    shape = _shapes.get(key)
    if shape is None:
        if len(_shapes) >= _LIMIT:
            _shapes.clear()
        shape = _shapes[key] = _plan(span.scope, frozenset(attributes or {span.name}), frozenset(attributes))
    span.shape = shape
    return shape


def read_span(span: Span, records: Sequence[LogRecord] = ()) -> Reading:
    """Everything the conventions know of one span and the records that belong to it."""
    shape = shape_of(span)
    attributes = span.attributes
    reading = Reading()
    values = [attributes[key] for key in shape.keys]
    if None in values or "" in values:
        facts = reading.__dict__
        for field, value in zip(shape.fields, values, strict=True):
            if value is not None and value != "":
                facts[field] = value
    else:
        reading.__dict__.update(zip(shape.fields, values, strict=True))
    kind: Kind | None = None
    for kind_of in shape.kinds:
        kind = kind_of(span, reading)
        if kind is not None:
            break
    reading.kind = kind
    reading.convention = shape.convention
    read_content(span, records, reading)
    return reading


def read_content(span: Span, records: Sequence[LogRecord], reading: Reading) -> None:
    """Give a reading what depends on its kind; once more where that was settled afterwards."""
    for read in shape_of(span).readers:
        read(span, reading)
    if span.events or records:
        read_events(span, records, reading)


def _plan(scope: str, hints: frozenset[str], keys: frozenset[str]) -> Shape:
    claiming = [convention for convention in CONVENTIONS if convention.claims(scope, hints)]
    if scope == SCOPE:
        # Our own spans speak GenAI names; what else stands in an exported one is kept, not read a second time.
        claiming = [convention for convention in claiming if convention.name in _OURS]
    fields: list[tuple[str, str]] = []
    taken: set[str] = set()
    for convention in claiming:
        for key, field in convention.fields.items():
            if key in keys:
                fields.append((key, field))
                taken.add(key)
    prefixes = tuple(prefix for convention in claiming for prefix in convention.consumed)
    # An application's own root may carry the id of any convention, but not under a name that could mean anything.
    sessions = dict.fromkeys(
        key
        for convention in (*claiming, *CONVENTIONS)
        for key in convention.sessions
        if key in keys and ("." in key or convention in claiming)
    )
    return Shape(
        keys=tuple(key for key, _ in reversed(fields)),
        fields=tuple(field for _, field in reversed(fields)),
        kinds=tuple(convention.kind for convention in claiming),
        readers=tuple(convention.read for convention in claiming if convention.read is not None),
        sessions=tuple(sorted(sessions, key=_session_rank)),
        rest=tuple(sorted(key for key in keys if key not in taken and not key.startswith(prefixes))),
        convention=claiming[0].name if claiming else "",
    )


_SESSION_ORDER: Final = ("session.id", "langfuse.session.id", "gen_ai.conversation.id")


def _session_rank(key: str) -> int:
    return _SESSION_ORDER.index(key) if key in _SESSION_ORDER else len(_SESSION_ORDER)


_RESPONSE: Final = "resp_"
"""The answer before, which some write as the conversation it continues."""
_THREADS: Final = frozenset({"thread.id", "thread_id"})
"""Names under which Rust programs write the thread of the operating system too, as a number."""


def session_id_of(span: Span) -> str | None:
    """The session or conversation id that a span carries itself."""
    attributes = span.attributes
    for key in shape_of(span).sessions:
        value: Any = attributes[key]
        if isinstance(value, str) and value and not value.startswith(_RESPONSE):
            return value.strip('"') or None
        if isinstance(value, int) and not isinstance(value, bool) and key not in _THREADS:
            return str(value)
    return None
