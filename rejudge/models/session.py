"""One recorded run, as evaluators, the tape and the store see it."""

from __future__ import annotations

import copy
import marshal
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, PrivateAttr

from rejudge.models.canonical import JsonValue

NodeType: TypeAlias = Literal["llm_call", "tool_call", "subagent_call", "span"]
Status: TypeAlias = Literal["completed", "failed", "in_progress", "timed_out", "crashed", "canceled"]
Origin: TypeAlias = Literal["imported", "recorded", "replay"]
CostStatus: TypeAlias = Literal["recorded", "estimated", "partial", "unpriced"]
Payloads: TypeAlias = Mapping[str, Any]
PayloadBlobs: TypeAlias = tuple[bytes | None, bytes | None]
"""The JSON of ``[inputs, outputs]`` and of ``attributes``, as a store keeps them; None where there is nothing."""

TERMINAL: frozenset[str] = frozenset({"completed", "failed"})
"""The statuses of a session that has ended on its own."""


class Recorded(BaseModel):
    """A frozen record whose payload fields are decoded on first touch.

    An evaluator that never looks at a payload never pays for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    lazy_fields: ClassVar[frozenset[str]] = frozenset()
    _load: Callable[[], Payloads] | None = PrivateAttr(default=None)
    _blobs: PayloadBlobs | None = PrivateAttr(default=None)

    @classmethod
    def from_facts(
        cls,
        facts: dict[str, Any],
        load: Callable[[], Payloads] | None = None,
        *,
        blobs: PayloadBlobs | None = None,
    ) -> Self:
        """A record straight from trusted facts, without validation (an eighth of its cost).

        Args:
            facts: Every field but the lazy ones, in its own type. Taken over, not copied.
            load: Gives the lazy fields by name; called at most once, on first touch.
            blobs: The JSON of the lazy fields, where whoever made the record has written it already.
        """
        record = cls.__new__(cls)
        object.__setattr__(record, "__dict__", facts)
        object.__setattr__(record, "__pydantic_fields_set__", set())
        object.__setattr__(record, "__pydantic_extra__", None)
        object.__setattr__(record, "__pydantic_private__", {"_load": load, "_blobs": blobs})
        return record

    @property
    def blobs(self) -> PayloadBlobs | None:
        """The JSON of its payloads, where it is at hand: a store need not write it again."""
        private = self.__pydantic_private__ or {}
        return private.get("_blobs")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """See `pydantic.BaseModel.model_copy`. What is kept of payloads stays behind: a copy may say otherwise."""
        changed = not self.lazy_fields.isdisjoint(update or ())
        copied = (self.decoded() if changed else self)._copied(update, deep=deep)
        if copied.__pydantic_private__ is not None:
            copied.__pydantic_private__["_blobs"] = None
            if changed:
                copied.__pydantic_private__["_load"] = None
        return copied

    def _copied(self, update: Mapping[str, Any] | None, *, deep: bool) -> Self:
        return super().model_copy(update=update, deep=deep)

    def pristine(self) -> Self:
        """The same record with its payloads not yet decoded: what one reader did to it stays with that reader."""
        if self.lazy_fields.isdisjoint(self.__dict__):
            return self  # nothing was touched yet, so nothing can leak
        private = self.__pydantic_private__ or {}
        load = private.get("_load")
        if load is None:
            # It was made with its payloads: from now on, this is what it holds, whoever reads it.
            load = private["_load"] = _kept({name: self.__dict__.get(name) for name in self.lazy_fields})
        facts = {name: value for name, value in self.__dict__.items() if name not in self.lazy_fields}
        return type(self).from_facts(facts, load)

    def __getattr__(self, name: str) -> Any:  # called only when normal lookup fails
        fields = type(self).lazy_fields
        if name in fields:
            private = object.__getattribute__(self, "__pydantic_private__") or {}
            load = private.get("_load")
            loaded = load() if load is not None else {}
            self.__dict__.update({field: loaded.get(field) for field in fields if field not in self.__dict__})
            return self.__dict__[name]
        return super().__getattr__(name)  # type: ignore[misc]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Recorded) or type(other) is not type(self):
            return NotImplemented
        return self.decoded().__dict__ == other.decoded().__dict__

    def __hash__(self) -> int:
        return hash((type(self), self.__dict__.get("id")))

    def decoded(self) -> Self:
        """This record with every payload decoded, ready for `model_dump`."""
        for name in self.lazy_fields:
            getattr(self, name)
        return self


def _kept(payloads: dict[str, Any]) -> Callable[[], Payloads]:
    """Gives these payloads anew at each call; plain values are read from bytes, far faster than they are copied."""
    try:
        return partial(marshal.loads, marshal.dumps(payloads))
    except ValueError:  # an object of some class, or nested beyond measure
        return partial(copy.deepcopy, copy.deepcopy(payloads))


class Node(Recorded):
    """One step of a session."""

    lazy_fields: ClassVar[frozenset[str]] = frozenset({"inputs", "outputs", "attributes"})

    id: str
    """Unique in its session and stable over imports: the span id, or ``trace:span`` where two traces share one."""
    index: int
    """Position in the session: by start time, then arrival; from 0."""
    node_type: NodeType
    name: str = ""
    status: Status = "completed"
    parent_id: str | None = None
    """The node this one ran under; may name a node that was never recorded."""
    link_ids: tuple[str, ...] = ()
    """Nodes that this one is linked to (OpenTelemetry span links within the session)."""
    trace_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    agent_name: str | None = None
    model: str | None = None
    """The model that answered; the requested one where the trace does not say."""
    requested_model: str | None = None
    provider: str | None = None
    response_id: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    """Including cached tokens. None = not reported, never 0."""
    output_tokens: int | None = None
    """Including reasoning tokens."""
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: Decimal | None = None
    """US dollars."""
    cost_status: CostStatus | None = None
    error: str | None = None
    error_type: str | None = None
    inferred: bool = False
    """True where the step was read out of messages and had no span of its own."""
    incomplete: str | None = None
    """Why its payloads are not whole (``truncated``, ``redacted``, ``not captured``); None where they are."""
    inputs: JsonValue = None
    """llm_call: ``{"messages", "system_instructions"?, "tools"?, "parameters"?}`` in the GenAI message schema;
    tool_call: the arguments; else whatever was recorded."""
    outputs: JsonValue = None
    """llm_call: ``{"messages": [...]}``; tool_call: the result; else whatever was recorded."""
    attributes: dict[str, Any] | None = None
    """What the trace said beyond the fields above."""


class Session(Recorded):
    """One recorded run of an agent: its own fields, without its nodes."""

    lazy_fields: ClassVar[frozenset[str]] = frozenset({"inputs", "outputs", "metadata"})

    id: str = ""
    number: int = 0
    """Counts the sessions of a store, from 1: what a person types."""
    agent: str = ""
    agent_version: int | None = None
    external_id: str = ""
    """The conversation or session id of the trace, else the trace id."""
    source: str = ""
    """Where it came from: ``otel:<service name>``, ``rejudge``, ``langfuse``…"""
    origin: Origin = "imported"
    status: Status = "completed"
    name: str | None = None
    framework: str | None = None
    user_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: str | None = None
    llm_call_count: int = 0
    llm_error_count: int = 0
    tool_call_count: int = 0
    tool_error_count: int = 0
    node_count: int = 0
    tool_names: tuple[str, ...] = ()
    """One per tool call, in order."""
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    input_tokens: int | None = None
    """Sum over the model calls that reported it; None where none did."""
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: Decimal | None = None
    """US dollars, as far as it is known (see ``cost_status``)."""
    cost_status: CostStatus | None = None
    recorded_cost: Decimal | None = None
    """What the trace itself said the whole session cost; None where it did not."""
    digest: str = ""
    """Hex SHA-256 over the canonical form of the session and its nodes."""
    complete: bool = True
    """False while the root has not arrived or something is still open."""
    tags: tuple[str, ...] = ()
    parent_session_id: str | None = None
    """The baseline, for a replay."""
    inputs: JsonValue = None
    """What the run was started with."""
    outputs: JsonValue = None
    """Its final answer."""
    metadata: dict[str, Any] | None = None
    """What the trace said of the whole run beyond the fields above."""


class SessionView:
    """One session as an evaluator reads it: ``session`` and its ``nodes`` in order.

    Args:
        session: The session's own fields.
        nodes: Every node, in order (start time, then arrival).
        baseline: The session that a replay was made from.

    Example:
        >>> view = SessionView(Session(outputs="sorry"), [Node(id="a", index=0, node_type="tool_call")])
        >>> [node.node_type for node in view.nodes], view.session.outputs
        (['tool_call'], 'sorry')
    """

    __slots__ = ("baseline", "nodes", "session")

    def __init__(self, session: Session, nodes: Sequence[Node] = (), *, baseline: Session | None = None) -> None:
        object.__setattr__(self, "session", session)
        object.__setattr__(self, "nodes", tuple(nodes))
        object.__setattr__(self, "baseline", baseline)

    session: Session
    nodes: tuple[Node, ...]
    baseline: Session | None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a SessionView is read-only; {name!r} cannot be set")

    def __repr__(self) -> str:
        return f"SessionView(session={self.session.id!r}, nodes={len(self.nodes)})"

    def pristine(self) -> SessionView:
        """The same session for the next reader, untouched by what this one did to its payloads."""
        baseline = self.baseline.pristine() if self.baseline is not None else None
        return SessionView(self.session.pristine(), [node.pristine() for node in self.nodes], baseline=baseline)

    @property
    def llm_calls(self) -> tuple[Node, ...]:
        """The model calls, in order."""
        return tuple(node for node in self.nodes if node.node_type == "llm_call")

    @property
    def tool_calls(self) -> tuple[Node, ...]:
        """The tool calls, in order."""
        return tuple(node for node in self.nodes if node.node_type == "tool_call")
