"""Fork points: which node a fork starts from, and the part of the tape that comes before it."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from rejudge.errors import NotFound, UsageError
from rejudge.models.canonical import JsonValue
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.replay import ForkPoint
from rejudge.models.session import Node, SessionView
from rejudge.replay.recorded import tool_name
from rejudge.replay.request import ModelRequest
from rejudge.replay.tape import RecordedCall, Tape

_NUMBERED = re.compile(r"(?P<kind>tool|model):(?P<name>.+?)(?:#(?P<number>\d+))?")


def fork_point(view: SessionView, written: str) -> ForkPoint:
    """The node that ``--from`` names: a node id, a position (from 0), ``tool:NAME#K`` or ``model:NAME#K`` (K from 1).

    Raises:
        NotFound: Where the session has no such node.
        UsageError: For a node that is no call of a tool or a model: nothing could start there.
    """
    node = _named(view, written)
    if node is None:
        known = ", ".join(
            f"{call.index} {call.node_type} {tool_name(call) or call.name}" for call in _calls(view)[:12]
        )
        mend = f"its calls are: {known}" if known else "it has no calls"
        raise NotFound(f"session {view.session.id or view.session.external_id!r} has no node {written!r}", mend=mend)
    if node not in _calls(view):
        mend = "name a tool call or a model call"
        raise UsageError(f"node {written!r} is a {node.node_type}, nothing that can be forked from", mend=mend)
    return ForkPoint(node_id=node.id, index=node.index, written=written)


def _calls(view: SessionView) -> list[Node]:
    return [node for node in view.nodes if node.node_type == "llm_call" or tool_name(node)]


def _named(view: SessionView, written: str) -> Node | None:
    by_id = next((node for node in view.nodes if node.id == written), None)
    if by_id is not None:
        return by_id
    if written.isdecimal():
        return next((node for node in view.nodes if node.index == int(written)), None)
    numbered = _NUMBERED.fullmatch(written)
    if numbered is None:
        return None
    name, number = numbered["name"], int(numbered["number"] or 1)
    if numbered["kind"] == "tool":
        same = [node for node in view.nodes if tool_name(node) == name]
    else:
        same = [
            node for node in view.nodes if node.node_type == "llm_call" and name in (node.requested_model, node.model)
        ]
    return same[number - 1] if 0 < number <= len(same) else None


@dataclass(frozen=True, slots=True)
class Strayed:
    """The run left the recording before the fork point."""

    reason: str
    expected_node_id: str | None = None
    """The recorded call that was due."""


class Place(Enum):
    """Where a call stands that is not before the fork point."""

    ENCLOSING = "it encloses the fork point: it has to run"
    FORK = "it is at or after the fork point: the fork's own rules apply"


class Prefix:
    """The recorded calls before a fork point: the run has to make each of them before the fork is reached.

    What encloses the fork point (a sub-agent called as a tool) has to run, and is not part of it.
    """

    def __init__(self, tape: Tape, fork: ForkPoint, policies: PolicySet) -> None:
        self._tape = tape
        self._fork = fork
        self._policies = policies
        self._lock = threading.Lock()
        calls = tape.calls()
        self._enclosing = {call.node_id: call for call in calls if fork.node_id in call.covers}
        self._due = {
            call.node_id: call for call in calls if call.index < fork.index and call.node_id not in self._enclosing
        }
        known = {call.node_id for call in calls}
        self._inside = {call.node_id: [at for at in call.covers if at in known] for call in calls if call.covers}
        self._models = sorted(call.index for call in calls if call.kind == "model")

    @property
    def reached(self) -> bool:
        """Whether every call before the fork point has been made."""
        return not self._due

    def tool(self, name: str, spellings: Sequence[JsonValue]) -> RecordedCall | Strayed | Place:
        """The recorded answer to a call; or where it stands, if it is not before the fork point."""
        policy = self._policies.for_tool(name)
        ignore = policy.ignore if isinstance(policy, HistoryPolicy) else ()
        with self._lock:
            if not self._due:
                return Place.FORK
            found = self._tape.claim_tool(name, spellings, ignore=ignore, before=self._fork.index)
            if isinstance(found, RecordedCall):
                return self._enter(found)
            if self._beside_the_fork():
                return Place.FORK
            return self._strayed(f"tool {name!r}", found.reason)

    def model(self, request: ModelRequest) -> RecordedCall | Strayed | Place:
        """As `tool`, for a request to a model."""
        with self._lock:
            if not self._due:
                return Place.FORK
            found = self._tape.claim_model(request, before=self._fork.index)
            if isinstance(found, RecordedCall):
                return self._enter(found)
            return self._strayed(f"model {request.model!r}", found.reason)

    def unreached(self) -> Strayed:
        """What it means that the agent returned without having reached the fork point."""
        due = self._next_due()
        reason = f"the run ended before the fork point; {due.kind} call {due.name!r} (node {due.index}) was due"
        return Strayed(reason, due.node_id)

    def _enter(self, call: RecordedCall) -> RecordedCall | Place:
        if call.node_id in self._enclosing:
            return Place.ENCLOSING
        for answered in (call.node_id, *call.covers):
            self._due.pop(answered, None)
        for around in [due for due in self._due.values() if self._ran_inside(due)]:
            del self._due[around.node_id]
        return call

    def _ran_inside(self, call: RecordedCall) -> bool:
        """Whether a call was let run, and all that it called has been answered (a sub-agent called as a tool)."""
        inside = self._inside.get(call.node_id, ())
        return bool(inside) and not any(node_id in self._due for node_id in inside)

    def _beside_the_fork(self) -> bool:
        """Whether only calls are due that ran side by side with the fork node: no model call lies between them."""
        first = min(call.index for call in self._due.values())
        return not any(first <= index < self._fork.index for index in self._models)

    def _strayed(self, what: str, why: str) -> Strayed:
        due = self._next_due()
        expected = f"{due.kind} call {due.name!r} (node {due.index})"
        return Strayed(
            f"the run diverged before the fork point: {what} was called where {expected} was due; {why}", due.node_id
        )

    def _next_due(self) -> RecordedCall:
        return min(self._due.values(), key=lambda call: call.index)
