"""What conventions say about one span: the raw facts, before arithmetic and assembly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rejudge.otel.conventions.messages import Message
from rejudge.otel.span import LogRecord, Span

Kind: TypeAlias = Literal["llm", "tool", "agent", "workflow", "embedding", "retrieval", "span", "event", "drop"]
"""``event``: written as a span, but something that happened to its neighbour; ``drop``: belongs to no session."""

AI_KINDS: Final = frozenset({"llm", "tool", "agent", "embedding"})
"""A trace without any of these is noise."""


class _Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""Stands where a value was not recorded, as opposed to recorded as null."""


class Reading:
    """The facts of one span under the names of `FIELDS`; what nobody said is the class's own None.

    Fields are written by the key tables of the conventions first, then by their `Convention.read`; `Reading.offer`
    never overwrites, so the convention that comes first in the registry wins.
    """

    kind: Kind | None = None
    convention: str = ""
    operation: Any = None
    name: Any = None
    provider: Any = None
    system: Any = None
    model: Any = None
    requested_model: Any = None
    response_id: Any = None
    finish_reasons: Any = None
    input_tokens: Any = None
    output_tokens: Any = None
    cached_input_tokens: Any = None
    cache_write_tokens: Any = None
    reasoning_tokens: Any = None
    input_audio_tokens: Any = None
    output_audio_tokens: Any = None
    cost: Any = None
    tool_name: Any = None
    tool_call_id: Any = None
    arguments: Any = MISSING
    result: Any = MISSING
    agent_name: Any = None
    agent_id: Any = None
    input_messages: Any = None
    """Raw messages, or a list of normalised ones once ``messages_ready`` is set."""
    output_messages: Any = None
    system_instructions: Any = None
    tool_definitions: Any = None
    parameters: dict[str, Any] | None = None
    inputs: Any = MISSING
    """What a span that is neither model nor tool call was given."""
    outputs: Any = MISSING
    user_id: Any = None
    error: Any = None
    error_type: Any = None
    failed: bool | None = None
    """True or False where an attribute says so; None leaves it to the span's status."""
    messages_in: list[Message] | None = None
    """Normalised input messages, where a convention built them itself."""
    messages_out: list[Message] | None = None
    extra_calls: list[Reading] | None = None
    """Further tool calls that this one span reports."""
    incomplete: str | None = None
    exact: bool = False
    """True where arguments, result, inputs and outputs are decoded already, and mean nothing but themselves."""
    parent_failure: bool = False
    """True where this span's failure is its parent's (a tool's execution below the tool)."""

    def offer(self, **facts: Any) -> None:
        """Take the facts that nobody gave yet; None and `MISSING` are no facts."""
        mine = self.__dict__
        for field, value in facts.items():
            if value is not None and value is not MISSING and mine.get(field) in (None, MISSING):
                mine[field] = value


@dataclass(frozen=True, slots=True)
class Convention:
    """One way of writing agents down in spans. To add one: a file with one of these, and a line in the registry."""

    name: str
    claims: Callable[[str, frozenset[str]], bool]
    """Whether a span of that scope with those attribute names speaks it; of a span without attributes its own name is
    given. Asked once per distinct shape."""
    fields: Mapping[str, str]
    """Attribute name → field of `Reading`; of several names for one field the first present wins."""
    kind: Callable[[Span, Reading], Kind | None]
    """What the span is, None where this convention does not say. The fields are filled already."""
    read: Callable[[Span, Reading], None] | None = None
    """What a table cannot say: flattened lists, JSON blobs. Called once the kind is known."""
    sessions: tuple[str, ...] = ()
    """Attribute names of a session or conversation id, best first."""
    spans_of_records: Callable[[list[LogRecord]], list[Span]] | None = None
    """Spans for sessions of which only log records were exported; records of other conventions are passed over."""
    consumed: tuple[str, ...] = ()
    """Prefixes of attributes whose content `read` takes over, so that nodes need not repeat them."""


def never(span: Span, reading: Reading) -> Kind | None:
    """The kind of a convention that never tells one."""
    return None
