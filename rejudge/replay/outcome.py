"""From what a run left behind to how it ended."""

from __future__ import annotations

import signal
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rejudge.models.canonical import JsonValue
from rejudge.models.replay import CallMiss, Fidelity, ReplayPlan, ReplayStatus


@dataclass(slots=True)
class Told:
    """What a journal tells, added up."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    misses: int = 0
    miss: CallMiss | None = None
    """The one that ended the run."""
    strayed: str | None = None
    applied: list[str] = field(default_factory=list)
    returned: bool = False
    outputs: JsonValue = None
    raised: str | None = None


def told_by(events: Iterable[dict[str, Any]]) -> Told:
    """The sum of a journal's events."""
    told = Told()
    for event in events:
        kind = event.get("event")
        if kind == "call":
            key = (str(event["call"]), str(event["source"]))
            told.counts[key] = told.counts.get(key, 0) + 1
        elif kind == "miss":
            told.misses += 1
            if event["ends"] and told.miss is None:
                told.miss = CallMiss.model_validate(event["miss"])
        elif kind == "strayed":
            told.strayed = told.strayed or str(event["reason"])
        elif kind == "applied" and event["part"] not in told.applied:
            told.applied.append(str(event["part"]))
        elif kind == "returned":
            told.returned, told.outputs = True, event.get("outputs")
        elif kind == "raised":
            told.raised = f"{event['type']}: {event['message']}" if event.get("message") else str(event["type"])
    return told


def fidelity_of(told: Told) -> Fidelity:
    """How the calls were answered; whether the sessions are equal is still to be said."""
    tool = {source: told.counts.get(("tool", source), 0) for source in ("history", "static", "llm", "live")}
    return Fidelity(
        **tool,
        model_history=told.counts.get(("model", "history"), 0),
        model_live=told.counts.get(("model", "live"), 0),
        misses=told.misses,
    )


def ending(plan: ReplayPlan, told: Told, report: dict[str, Any] | None) -> tuple[ReplayStatus, str | None]:
    """How a run ended, and why, in one sentence; no reason where it completed.

    Args:
        report: The warden's; None where the warden itself was ended.
    """
    report = report or {}
    if told.miss is not None:
        return "failed", f"{told.miss.call} call {told.miss.name!r}: {told.miss.reason}"
    if told.strayed is not None:
        return "failed", told.strayed
    if told.raised is not None:
        return "failed", told.raised
    if not (told.returned or (plan.spec.kind == "command" and report.get("exit_code") == 0)):
        return _cut_off(plan, report)
    missed = [part for part in plan.override.parts if part not in told.applied]
    if missed:
        return "failed", f"the override of {', '.join(missed)} matched no call: nothing was changed by it"
    return "completed", None


def _cut_off(plan: ReplayPlan, report: dict[str, Any]) -> tuple[ReplayStatus, str]:
    if report.get("canceled"):
        return "canceled", "it was canceled"
    if report.get("timed_out"):
        return "timed_out", f"it was still running after {plan.limits.timeout_seconds:g} s"
    code = report.get("exit_code")
    if code is None:
        return "crashed", "the process over it was ended"
    if code < 0:
        return "crashed", f"it was ended by {_signal_name(-code)}"
    if plan.spec.kind == "command":
        return "failed", f"it ended with exit code {code}"
    return "crashed", f"its process ended with exit code {code} before it returned"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
