"""The tape: the recorded calls that a replay is answered from."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from rejudge.models.canonical import JsonValue
from rejudge.models.policy import Scope
from rejudge.models.replay import ArgumentDifference, CallKind
from rejudge.replay.keys import argument_differences, call_key, without
from rejudge.replay.request import ModelRequest, request_key, same_settings
from rejudge.replay.request_differences import request_differences


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call of a tool or a model, as it was recorded."""

    kind: CallKind
    name: str
    """Tool name, or the model that was asked for."""
    arguments: JsonValue
    """A tool's arguments; a model's ``messages``, ``system_instructions``, ``tools`` and ``parameters``."""
    result: JsonValue
    """A tool's result; a model's output messages."""
    node_id: str
    index: int
    session_id: str = ""
    status: str = "completed"
    error: str | None = None
    error_type: str | None = None
    incomplete: str | None = None
    """Why its payloads are not whole."""
    inferred: bool = False
    """True where it was read out of messages."""
    ended_at: str = ""
    """ISO 8601, UTC; empty where it is not known."""
    covers: tuple[str, ...] = ()
    """Nodes that ran inside it: answering it answers them."""
    response: Mapping[str, Any] | None = None
    """For a model: response id, finish reason, tokens, and ``raw`` where an adapter recorded it."""

    def request(self) -> ModelRequest:
        """A model call's request."""
        body = self.arguments if isinstance(self.arguments, dict) else {}
        return ModelRequest(
            model=self.name,
            messages=_dicts(body.get("messages")),
            system_instructions=_dicts(body.get("system_instructions")),
            tools=_dicts(body.get("tools")) or None,
            parameters=body.get("parameters") or {},
        )


@dataclass(frozen=True, slots=True)
class Absence:
    """Nothing on the tape answers a call, and why."""

    reason: str
    nearest: RecordedCall | None = None
    differences: tuple[ArgumentDifference, ...] = ()


_IndexKey: TypeAlias = tuple[Scope, CallKind, str, tuple[str, ...]]
_Index: TypeAlias = dict[str, list[RecordedCall]]


class Tape:
    """Recorded calls by scope, each of the baseline's given out once; safe under threads.

    Args:
        calls: By scope, each in recorded order.
    """

    def __init__(self, calls: Mapping[Scope, Sequence[RecordedCall]]) -> None:
        self._calls = calls
        self._claimed: set[str] = set()
        self._lock = threading.Lock()
        self._indexes: dict[_IndexKey, _Index] = {}

    def calls(self, scope: Scope = "baseline") -> Sequence[RecordedCall]:
        """Every call of a scope, in recorded order."""
        return self._calls.get(scope, ())

    def claim_tool(
        self,
        name: str,
        spellings: Sequence[JsonValue],
        *,
        scope: Scope = "baseline",
        ignore: tuple[str, ...] = (),
        before: int | None = None,
    ) -> RecordedCall | Absence:
        """The recorded call that answers this one, given out; or why there is none.

        Args:
            spellings: The same arguments, the likeliest spelling first (as called, with defaults filled in …).
            before: Only calls before this position of the baseline.
        """
        with self._lock:
            index = self._index(scope, "tool", name, ignore)
            for arguments in spellings:
                found = self._take(index.get(call_key(name, arguments, ignore=ignore), ()), scope, before)
                if found is not None:
                    return _usable(found)
        return self._tool_absence(name, spellings[0], scope=scope, ignore=ignore)

    def claim_model(
        self, request: ModelRequest, *, scope: Scope = "baseline", before: int | None = None
    ) -> RecordedCall | Absence:
        """The recorded model call that answers this request, given out; or why there is none."""
        with self._lock:
            index = self._index(scope, "model", request.model, ())
            recorded = index.get(request_key(request), ())
            fitting = [call for call in recorded if same_settings(call.request(), request)]
            found = self._take(fitting, scope, before)
        return _usable(found) if found is not None else self._model_absence(request, recorded, scope)

    def _take(self, calls: Sequence[RecordedCall], scope: Scope, before: int | None) -> RecordedCall | None:
        if scope != "baseline":
            return calls[-1] if calls else None
        for call in calls:
            if before is not None and call.index >= before:
                return None
            if call.node_id not in self._claimed:
                self._claimed.add(call.node_id)
                return call
        return None

    def _index(self, scope: Scope, kind: CallKind, name: str, ignore: tuple[str, ...]) -> _Index:
        at = (scope, kind, name, ignore)
        index = self._indexes.get(at)
        if index is None:
            index = self._indexes[at] = {}
            for call in self._calls.get(scope, ()):
                if call.kind == kind and call.name == name and _may_answer(call, scope):
                    index.setdefault(recorded_key(call, ignore), []).append(call)
            if scope != "baseline":
                for calls in index.values():
                    calls.sort(key=lambda call: call.ended_at)
        return index

    def _tool_absence(self, name: str, arguments: JsonValue, *, scope: Scope, ignore: tuple[str, ...]) -> Absence:
        calls = [call for call in self.calls(scope) if call.kind == "tool" and call.name == name]
        if not calls:
            others = sorted({call.name for call in self.calls(scope) if call.kind == "tool"})
            known = f"; recorded are {', '.join(others[:10])}" if others else "; no tool call was recorded at all"
            return Absence(f"{_owner(scope)} has no call of {name!r}{known}")
        key = call_key(name, arguments, ignore=ignore)
        same = [call for call in calls if recorded_key(call, ignore) == key]
        if same:
            return Absence(_used_up(same, scope), nearest=same[-1])
        return _nearest(name, without(arguments, ignore), calls, scope, ignore)

    def _model_absence(self, request: ModelRequest, recorded: Sequence[RecordedCall], scope: Scope) -> Absence:
        if recorded and any(same_settings(call.request(), request) for call in recorded):
            return Absence(_used_up(recorded, scope), nearest=recorded[-1])
        if recorded:
            reason = "the same messages were recorded with other parameters or tools"
            return _nearest_request(reason, request, recorded)
        calls = [call for call in self.calls(scope) if call.kind == "model"]
        if not calls:
            return Absence(f"{_owner(scope)} has no model call")
        same_model = [call for call in calls if call.name == request.model]
        if not same_model:
            models = ", ".join(sorted({call.name for call in calls})[:5])
            return _nearest_request(
                f"{_owner(scope)} asked other models ({models}), never {request.model!r}", request, calls
            )
        unread = next((call for call in same_model if call.incomplete), None)
        if unread is not None and not unread.request().messages:
            return Absence(f"the messages of {request.model!r} are not whole: {unread.incomplete}", nearest=unread)
        return _nearest_request(f"no recorded request to {request.model!r} has these messages", request, same_model)

    def to_bytes(self) -> bytes:
        """The tape as JSON, to be read by `from_bytes`: what was claimed is not part of it."""
        try:
            return orjson.dumps({"version": 1, "scopes": self._calls})
        except TypeError:  # a lone surrogate or an integer beyond 64 bits: JSON all the same
            plain = {scope: [_as_dict(call) for call in calls] for scope, calls in self._calls.items()}
            return b" " + json.dumps({"version": 1, "scopes": plain}).encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Tape:
        """The tape that `to_bytes` wrote, nothing of it claimed."""
        loaded = json.loads(content) if content.startswith(b" ") else orjson.loads(content)
        return cls({scope: [_call(facts) for facts in calls] for scope, calls in loaded["scopes"].items()})


def recorded_key(call: RecordedCall, ignore: tuple[str, ...]) -> str:
    """The key under which a recorded call answers."""
    if call.kind == "model":
        return request_key(call.request())
    try:
        return call_key(call.name, call.arguments, ignore=ignore)
    except ValueError:
        return ""


def _may_answer(call: RecordedCall, scope: Scope) -> bool:
    return scope == "baseline" or (call.status == "completed" and call.incomplete is None)


def _usable(call: RecordedCall) -> RecordedCall | Absence:
    # A call that failed has no result to capture: its failure is the answer.
    answered_by_failure = call.status == "failed" and call.incomplete == "not captured"
    if call.incomplete is not None and not answered_by_failure:
        return Absence(f"the recorded payload is not whole: {call.incomplete}", nearest=call)
    if call.status == "in_progress":
        return Absence("the recorded call had not ended when the recording did", nearest=call)
    return call


def _used_up(calls: Sequence[RecordedCall], scope: Scope) -> str:
    if scope != "baseline":
        return "it was recorded, but never completed with its payload whole"
    times = "time" if len(calls) == 1 else "times"
    return f"it was recorded {len(calls)} {times}, and each recorded result was given out already"


def _nearest(
    name: str, arguments: JsonValue, calls: Sequence[RecordedCall], scope: Scope, ignore: tuple[str, ...]
) -> Absence:
    recent = calls[-1000:]  # a scope can hold very many; a reader looks at one
    compared = [(argument_differences(without(call.arguments, ignore), arguments), call) for call in recent]
    differences, call = min(compared, key=lambda pair: len(pair[0]))
    if call.arguments is None and call.incomplete:
        return Absence(f"the recorded arguments of {name!r} are not whole: {call.incomplete}", nearest=call)
    return Absence(f"{_owner(scope)} has no call of {name!r} with these arguments", call, differences)


def _nearest_request(reason: str, request: ModelRequest, calls: Sequence[RecordedCall]) -> Absence:
    compared = [(request_differences(call.request(), request), call) for call in calls[-50:]]
    differences, call = min(compared, key=lambda pair: len(pair[0]))
    return Absence(reason, call, differences)


def _owner(scope: Scope) -> str:
    return {"baseline": "the baseline", "cohort_version": "the cohort version", "agent": "the agent"}[scope]


def _dicts(value: Any) -> tuple[dict[str, Any], ...]:
    if isinstance(value, str):
        return ({"type": "text", "content": value},)
    return tuple(item for item in value if isinstance(item, dict)) if isinstance(value, Iterable) else ()


def _call(facts: dict[str, Any]) -> RecordedCall:
    facts["covers"] = tuple(facts["covers"])
    return RecordedCall(**facts)


def _as_dict(call: RecordedCall) -> dict[str, Any]:
    return {name: getattr(call, name) for name in RecordedCall.__slots__}
