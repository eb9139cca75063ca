"""The steps of a session as two sessions are compared: calls of tools, models and sub-agents, in order."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson

from rejudge.models.attributes import ANSWER
from rejudge.models.canonical import JsonValue, canonical_bytes
from rejudge.models.session import Node, SessionView
from rejudge.replay.failures import plain_message
from rejudge.replay.keys import call_key
from rejudge.replay.recorded import recorded_calls
from rejudge.replay.request import (
    ModelRequest,
    canonical_messages,
    known_parameters,
    request_key,
    same_settings,
)
from rejudge.replay.tape import RecordedCall


@dataclass(frozen=True, slots=True)
class Step:
    """One call."""

    node_id: str
    index: int
    node_type: str
    name: str
    key: str | None
    """What two equal calls share; None where the payload is not whole: then the name alone counts."""
    arguments: JsonValue
    result: bytes | None
    """What it returned, or how it failed, canonical; None where that is not known."""
    shown_result: JsonValue
    answered: bool
    """True where the tape or a policy answered it."""
    covers: tuple[str, ...] = ()
    started_at: datetime | None = None
    ended_at: datetime | None = None
    request: ModelRequest | None = None
    asked: frozenset[str] = frozenset()
    """Of a model's answer, the keys of the tool calls that it asks for at once."""
    group: int = 0
    """Steps of one group ran side by side: their order says nothing."""

    def same_call(self, replayed: Step) -> bool:
        """Whether a step of the replay is this call again, with the same arguments."""
        if not self.same_callee(replayed) or self.name != replayed.name:
            return False
        if self.key is None or replayed.key is None:
            return True
        if self.key != replayed.key:
            return False
        asked, again = self.request, replayed.request
        return asked is None or again is None or same_settings(asked, again)

    def same_callee(self, other: Step) -> bool:
        """Whether both called the same tool; all models are one, since another model is another argument."""
        if self.node_type != other.node_type:
            return False
        return self.node_type == "llm_call" or self.name == other.name

    def same_result(self, other: Step) -> bool:
        """Whether both returned the same, as far as it is known."""
        return self.result is None or other.result is None or self.result == other.result


def steps_of(view: SessionView) -> list[Step]:
    """The steps of a session, in order, with what ran side by side told."""
    calls = {call.node_id: call for call in recorded_calls(view)}
    steps = [
        _step(node, calls.get(node.id))
        for node in view.nodes
        if node.id in calls or node.node_type == "subagent_call"
    ]
    return _grouped(steps)


def _step(node: Node, call: RecordedCall | None) -> Step:
    answer = (node.attributes or {}).get(ANSWER)
    return Step(
        node_id=node.id,
        index=node.index,
        node_type="tool_call" if call is not None and call.kind == "tool" else node.node_type,
        name=call.name if call is not None else (node.agent_name or node.name),
        key=_key(call) if call is not None else None,
        arguments=_shown_arguments(call) if call is not None else None,
        result=_result(call) if call is not None else None,
        shown_result=_shown_result(call) if call is not None else None,
        answered=answer in {"history", "static", "llm"},
        covers=call.covers if call is not None else (),
        started_at=node.started_at,
        ended_at=node.ended_at,
        request=call.request() if call is not None and call.kind == "model" else None,
        asked=_asked(call) if call is not None and call.kind == "model" else frozenset(),
    )


def _asked(call: RecordedCall) -> frozenset[str]:
    messages = call.result.get("messages") if isinstance(call.result, dict) else None
    parts = [part for message in messages or () for part in message.get("parts") or ()]
    keys = set()
    for part in parts:
        if part.get("type") == "tool_call":
            with suppress(ValueError):
                keys.add(call_key(str(part.get("name")), _decoded(part.get("arguments") or {})))
    return frozenset(keys)


def _key(call: RecordedCall) -> str | None:
    if call.kind == "model":
        request = call.request()
        return request_key(request) if request.messages else None
    if call.arguments is None:
        return None
    try:
        return call_key(call.name, call.arguments)
    except ValueError:
        return None


def _shown_arguments(call: RecordedCall) -> JsonValue:
    if call.kind == "tool":
        return call.arguments
    request = call.request()
    shown: dict[str, Any] = {
        "model": call.name,
        "system": request.system_text,
        "parameters": known_parameters(request),
        "messages": list(request.messages),
    }
    return {name: value for name, value in shown.items() if value}


def _shown_result(call: RecordedCall) -> JsonValue:
    if call.status == "failed":
        return {"error": call.error, "type": call.error_type}
    return call.result


def _result(call: RecordedCall) -> bytes | None:
    if call.incomplete is not None or call.status == "in_progress":
        return None
    try:
        if call.status == "failed":
            return canonical_bytes(["failed", plain_message(call.error_type, call.error or "")])
        if call.kind == "model":
            messages = call.result.get("messages") if isinstance(call.result, dict) else None
            return canonical_bytes(["messages", canonical_messages(tuple(messages or ()))])
        return canonical_bytes(["returned", _less_generated(_decoded(call.result))])
    except ValueError:
        return None


_GENERATED: Final = re.compile(r"lc_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""LangChain gives each part of a result a random id, and marks it so."""


def _less_generated(value: JsonValue) -> JsonValue:
    """A result less the ids that are others in every run."""
    if isinstance(value, list):
        return [_less_generated(item) for item in value]
    if not isinstance(value, dict):
        return value
    generated = isinstance(value.get("id"), str) and _GENERATED.fullmatch(value["id"]) is not None
    return {key: _less_generated(item) for key, item in value.items() if not (generated and key == "id")}


def _decoded(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        try:
            return orjson.loads(value)
        except ValueError:
            return value
    return value


def _grouped(steps: list[Step]) -> list[Step]:
    grouped: list[Step] = []
    group, busy_until = 0, None
    asked: frozenset[str] = frozenset()
    for step in steps:
        beside = step.started_at is not None and busy_until is not None and step.started_at < busy_until
        # Asked for in one answer, they are side by side however fast each of them was.
        with_last = step.key in asked and grouped[-1].key in asked
        if not beside and not with_last:
            group += 1
            busy_until = None
        asked = step.asked if step.node_type == "llm_call" else asked
        ends = step.ended_at
        # What encloses others is no neighbour of theirs.
        if ends is not None and not step.covers and (busy_until is None or ends > busy_until):
            busy_until = ends
        grouped.append(replace(step, group=group))
    return grouped
