"""One run of an agent under replay: which call gets what.

A `Rerun` is asked about every call before it is made (see `rejudge.replay` for who asks). It knows the tape, the
policies, the override and the fork point, writes what it decided to the journal, and ends the run where a
policy says so. It never makes a call itself, but for the ``llm`` policy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from rejudge.errors import NoRecordedAnswer, ReplayEnded
from rejudge.models.canonical import JsonValue, canonical_bytes
from rejudge.models.policy import HistoryPolicy, LlmPolicy, OnMiss, PassthroughPolicy, StaticPolicy
from rejudge.models.replay import AnswerSource, CallMiss, ReplayPlan
from rejudge.replay.answers import ModelAnswer, ToolAnswer
from rejudge.replay.fork import Place, Prefix, Strayed
from rejudge.replay.journal import Journal
from rejudge.replay.overrides import overridden
from rejudge.replay.request import ModelRequest, ModelResponse
from rejudge.replay.static import static_case
from rejudge.replay.tape import Absence, RecordedCall, Tape


class Rerun:
    """A run in progress.

    Args:
        plan: What was asked.
        tape: The recorded calls, nothing claimed.
        journal: Where each decision is written.
        simulate: Makes up a result for the ``llm`` policy: (policy, tool name, arguments, schema, examples).
        on_end: Called once, when a call has ended the run.
    """

    def __init__(
        self,
        plan: ReplayPlan,
        tape: Tape,
        journal: Journal,
        *,
        simulate: Callable[..., JsonValue] | None = None,
        on_end: Callable[[], None] | None = None,
    ) -> None:
        self.plan = plan
        self._tape = tape
        self._journal = journal
        self._simulate = simulate
        self._on_end = on_end
        self._prefix = Prefix(tape, plan.fork, plan.policies) if plan.fork is not None else None
        self._ended: str | None = None
        self._diverged = False
        self._applied: set[str] = set()
        self._lock = threading.Lock()

    @property
    def ended(self) -> str | None:
        """Why the run is over; None while it is not."""
        return self._ended

    @property
    def at_fork(self) -> bool:
        """Whether the fork's policies and overrides are in force: from the start where there is no fork point."""
        return self._prefix is None or self._prefix.reached

    def refuse_when_over(self) -> None:
        """Raise `ReplayEnded` where the run is over: an agent that swallowed its end gets nothing more."""
        if self._ended is not None:
            raise ReplayEnded(self._ended)

    def ask_tool(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        spellings: Sequence[Mapping[str, JsonValue]] = (),
        call_id: str | None = None,
        schema: Callable[[], Mapping[str, Any] | None] | None = None,
    ) -> ToolAnswer | None:
        """The answer to a tool call; None: make it.

        Args:
            spellings: Other spellings of the same arguments (defaults filled in, or left out).
            schema: Gives the JSON schema of the tool's result, for the ``llm`` policy.

        Raises:
            ReplayEnded: The run is over: nothing answers this call, or an earlier one ended the run.
            NoRecordedAnswer: Nothing answers it, and the agent is to cope with that.
        """
        self.refuse_when_over()
        written = [arguments, *spellings]
        if self._prefix is not None and not self._prefix.reached:
            due = self._prefix.tool(name, written)
            if isinstance(due, RecordedCall):
                return self._tool_history(name, due)
            if isinstance(due, Strayed):
                self._stray(due, name=name, arguments=dict(arguments))
            if due is Place.ENCLOSING:
                return self._live_tool(name)
        policy = self.plan.policies.for_tool(name)
        if isinstance(policy, HistoryPolicy):
            found = self._tape.claim_tool(name, written, scope=policy.scope, ignore=policy.ignore)
            if isinstance(found, RecordedCall):
                return self._tool_history(name, found)
            return self._missed_tool(name, arguments, found, policy.on_miss)
        if isinstance(policy, StaticPolicy):
            return self._tool_static(policy, name, arguments)
        if isinstance(policy, LlmPolicy):
            return self._tool_simulated(policy, name, arguments, schema)
        return self._live_tool(name)

    def ask_model(self, request: ModelRequest) -> tuple[ModelRequest, ModelAnswer | None]:
        """The request as it is to be sent, with the override in it, and the answer to it; None: send it.

        Raises:
            ReplayEnded: As for tools.
        """
        self.refuse_when_over()
        if self._prefix is not None and not self._prefix.reached:
            due = self._prefix.model(request)
            if isinstance(due, RecordedCall):
                return request, self._model_history(request.model, due)
            if isinstance(due, Strayed):
                self._stray(due, name=request.model, arguments=_shown(request))
        policy = self.plan.policies.for_model(request.model)
        request, applied = overridden(request, self.plan.override)
        for part in applied:
            self._apply(part)
        if isinstance(policy, PassthroughPolicy) or (self._diverged and not isinstance(policy, HistoryPolicy)):
            return request, self._live_model(request.model)
        scope = policy.scope if isinstance(policy, HistoryPolicy) else "baseline"
        found = self._tape.claim_model(request, scope=scope)
        if isinstance(found, RecordedCall):
            return request, self._model_history(request.model, found)
        self._diverged = True
        if isinstance(policy, HistoryPolicy):
            self._missed_model(request, found, policy.on_miss)
        return request, self._live_model(request.model)

    def offered_tools(self) -> list[Mapping[str, Any]]:
        """Definitions of the tools that the baseline's models were offered, each once: what an MCP server listed."""
        found: dict[bytes, Mapping[str, Any]] = {}
        for call in self._tape.calls():
            for tool in call.request().tools or () if call.kind == "model" else ():
                with suppress(ValueError):
                    found.setdefault(canonical_bytes(tool), tool)
        return list(found.values())

    def take_override(self, part: str) -> bool:
        """Whether a part of the override is in force now (before the fork point it is not); marks it as applied.

        Args:
            part: ``model``, ``model:OLD``, ``system_prompt``, ``prompt`` or ``model_params``.
        """
        if part not in self.plan.override.parts or not self.at_fork:
            return False
        self._apply(part)
        return True

    def misfit(self, name: str, arguments: Mapping[str, JsonValue], reason: str) -> NoReturn:
        """A recorded result is not what the tool returns: the run ends as after a miss."""
        self._end(CallMiss(name=name, arguments=dict(arguments), reason=reason))

    def finish(self) -> None:
        """The agent has returned: what a fork point was never reached means is written down."""
        if self._prefix is not None and not self._prefix.reached and self._ended is None:
            self._write_stray(self._prefix.unreached(), name=None, arguments=None)

    def _stray(self, strayed: Strayed, *, name: str, arguments: JsonValue) -> NoReturn:
        self._write_stray(strayed, name=name, arguments=arguments)
        raise ReplayEnded(strayed.reason)

    def _write_stray(self, strayed: Strayed, *, name: str | None, arguments: JsonValue) -> None:
        with self._lock:
            self._ended = self._ended or strayed.reason
        event = {"event": "strayed", "reason": strayed.reason, "expected": strayed.expected_node_id}
        self._journal.write({**event, "name": name, "arguments": arguments})
        self._over()

    def _tool_history(self, name: str, call: RecordedCall) -> ToolAnswer:
        self._record("tool", name, "history", call.node_id)
        return ToolAnswer(
            source="history",
            result=call.result,
            node_id=call.node_id,
            failed=call.status != "completed",
            error=call.error if call.error is not None else _text(call.result),
            error_type=call.error_type,
            inferred=call.inferred,
        )

    def _tool_static(self, policy: StaticPolicy, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer | None:
        case = static_case(policy, dict(arguments))
        if case is None:
            absence = Absence(f"none of the {len(policy.cases)} static cases of {name!r} matches these arguments")
            return self._missed_tool(name, arguments, absence, policy.on_miss)
        self._record("tool", name, "static", None)
        return ToolAnswer("static", result=case.result, failed=case.error is not None, error=case.error)

    def _tool_simulated(
        self,
        policy: LlmPolicy,
        name: str,
        arguments: Mapping[str, JsonValue],
        schema: Callable[[], Mapping[str, Any] | None] | None,
    ) -> ToolAnswer | None:
        if self._simulate is None:
            absence = Absence("the llm policy has no model to ask in this run")
            return self._missed_tool(name, arguments, absence, "fail")
        examples = [call for call in self._tape.calls() if call.kind == "tool" and call.name == name]
        try:
            result = self._simulate(
                policy, name, dict(arguments), schema() if schema is not None else None, examples[:5]
            )
        except Exception as error:
            absence = Absence(f"{policy.model!r} made up no result: {error}")
            return self._missed_tool(name, arguments, absence, "fail")
        self._record("tool", name, "llm", None)
        return ToolAnswer("llm", result=result)

    def _model_history(self, name: str, call: RecordedCall) -> ModelAnswer:
        self._record("model", name, "history", call.node_id)
        return ModelAnswer(
            response=_response(call),
            node_id=call.node_id,
            failed=call.status != "completed",
            error=call.error,
            error_type=call.error_type,
        )

    def _live_tool(self, name: str) -> ToolAnswer | None:
        self._record("tool", name, "live", None)
        return None

    def _live_model(self, name: str) -> ModelAnswer | None:
        self._record("model", name, "live", None)
        return None

    def _missed_tool(
        self, name: str, arguments: Mapping[str, JsonValue], absence: Absence, on_miss: OnMiss
    ) -> ToolAnswer | None:
        self._diverged = True
        miss = CallMiss(
            name=name,
            arguments=dict(arguments),
            reason=absence.reason,
            nearest_node_id=absence.nearest.node_id if absence.nearest is not None else None,
            differences=absence.differences,
        )
        self._miss(miss, on_miss)
        return self._live_tool(name)

    def _missed_model(self, request: ModelRequest, absence: Absence, on_miss: OnMiss) -> None:
        nearest = absence.nearest.node_id if absence.nearest is not None else None
        miss = CallMiss(
            call="model",
            name=request.model,
            arguments=_shown(request),
            reason=absence.reason,
            nearest_node_id=nearest,
            differences=absence.differences,
        )
        try:
            self._miss(miss, on_miss)
        except (ReplayEnded, NoRecordedAnswer) as refused:
            refused.request = request  # what is put on record is what would have been sent
            raise

    def _miss(self, miss: CallMiss, on_miss: OnMiss) -> None:
        if on_miss == "fail":
            self._end(miss)
        self._journal.write({"event": "miss", "ends": False, "miss": miss.model_dump(mode="json")})
        if on_miss == "error_result":
            raise NoRecordedAnswer(f"{miss.name}: {miss.reason}")

    def _end(self, miss: CallMiss) -> NoReturn:
        reason = f"{miss.call} call {miss.name!r}: {miss.reason}"
        with self._lock:
            first = self._ended is None
            self._ended = self._ended or reason
        self._journal.write({"event": "miss", "ends": first, "miss": miss.model_dump(mode="json")})
        self._over()
        raise ReplayEnded(reason)

    def _over(self) -> None:
        if self._on_end is not None:
            self._on_end()

    def _apply(self, part: str) -> None:
        if part not in self._applied:
            self._applied.add(part)
            self._journal.write({"event": "applied", "part": part})

    def _record(self, call: str, name: str, source: AnswerSource, node_id: str | None) -> None:
        self._journal.write({"event": "call", "call": call, "name": name, "source": source, "node": node_id})


def _response(call: RecordedCall) -> ModelResponse:
    result = call.result if isinstance(call.result, dict) else {}
    messages = result.get("messages") or ()
    return ModelResponse(messages=tuple(messages), **dict(call.response or {}))


def _shown(request: ModelRequest) -> JsonValue:
    return dict(request.messages[-1]) if request.messages else None


def _text(result: JsonValue) -> str:
    return result if isinstance(result, str) else ""
