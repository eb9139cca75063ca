"""Where a replay leaves its baseline: the two aligned, and the first difference with both of its sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rejudge.models.canonical import JsonValue, canonical_bytes
from rejudge.models.replay import ArgumentDifference, Divergence, DivergenceKind, DivergenceSide
from rejudge.models.session import Session, SessionView
from rejudge.replay.keys import argument_differences
from rejudge.replay.request_differences import request_differences
from rejudge.replay.steps import Step, steps_of

_SHOWN: Final = 120


def first_divergence(baseline: SessionView, replay: SessionView) -> Divergence | None:
    """The first step at which two sessions differ, and how; None where they do not.

    Calls are the same where type, name and canonical arguments are; calls that ran side by side may stand in any
    order. What ran inside a call that the tape answered is not missed.
    """
    steps = compared_steps(baseline, replay)
    return _align(*steps, results=True) or _outputs(baseline.session, replay.session, len(steps[0]))


def same_steps(baseline: SessionView, replay: SessionView, node_type: str) -> bool:
    """Whether both made the same calls of one type, in the same order."""
    left, right = compared_steps(baseline, replay)
    return (
        _align(
            [step for step in left if step.node_type == node_type],
            [step for step in right if step.node_type == node_type],
            results=False,
        )
        is None
    )


def same_output(baseline: Session, replay: Session) -> bool:
    """Whether both ended with the same answer."""
    return _outputs(baseline, replay, 0) is None


def compared_steps(baseline: SessionView, replay: SessionView) -> tuple[list[Step], list[Step]]:
    """The steps of both, less those inside a call that only the other side's tape answered."""
    left, right = steps_of(baseline), steps_of(replay)
    return _less_covered(left, right), _less_covered(right, left)


def _less_covered(mine: list[Step], others: list[Step]) -> list[Step]:
    answered = {(step.name, step.key) for step in others if step.answered}
    hidden: set[str] = set()
    for step in mine:
        if step.covers and (step.name, step.key) in answered:
            hidden.update(step.covers)
    return [step for step in mine if step.node_id not in hidden]


def _align(baseline: Sequence[Step], replay: Sequence[Step], *, results: bool) -> Divergence | None:
    waiting = list(baseline)
    for place, step in enumerate(replay):
        at = _counterpart(waiting, step, replay, place)
        if at is None:
            return _difference(waiting, replay[place:], place)
        known = waiting.pop(at)
        if results and not known.same_result(step):
            return _result_difference(known, step, place)
    if waiting:
        missed = waiting[0]
        return _divergence("missing", len(replay), missed, None, f"{_called(missed)} was not made")
    return None


def _counterpart(waiting: Sequence[Step], step: Step, replay: Sequence[Step], place: int) -> int | None:
    """Where the same call stands among those that may come now."""
    if not waiting:
        return None
    beside = sum(1 for other in replay[place:] if other.group == step.group)
    for at, known in enumerate(waiting):
        if known.group != waiting[0].group and at >= beside:
            return None
        if known.same_call(step):
            return at
    return None


def _difference(waiting: Sequence[Step], coming: Sequence[Step], place: int) -> Divergence:
    step = coming[0]
    if not waiting:
        return _divergence("extra", place, None, step, f"{_called(step)} was not in the baseline")
    due = waiting[0]
    due_comes = any(due.same_call(later) for later in coming[1:])
    was_due_later = any(later.same_call(step) for later in waiting[1:])
    if due_comes and was_due_later:
        return _divergence("order", place, due, step, f"{_called(step)} came before {_called(due)}")
    if was_due_later:
        return _divergence("missing", place, due, step, f"{_called(due)} was not made")
    if due_comes or not due.same_callee(step):
        return _divergence("extra", place, due, step, f"{_called(step)} was made where {_called(due)} was due")
    return _divergence("arguments", place, due, step, f"{_called(step)} was called with other {_words(due, step)}")


def _result_difference(known: Step, step: Step, place: int) -> Divergence:
    kind: DivergenceKind = "model_text" if step.node_type == "llm_call" else "result"
    what = "answered" if kind == "model_text" else "returned"
    return Divergence(
        kind=kind,
        step=place,
        baseline=_side(known, known.shown_result),
        replay=_side(step, step.shown_result),
        message=f"step {place + 1}: {_called(step)} {what} something else",
    )


def _outputs(baseline: Session, replay: Session, steps: int) -> Divergence | None:
    if baseline.status == replay.status or {baseline.status, replay.status} <= {"completed", "in_progress"}:
        left, right = baseline.outputs, replay.outputs
        if baseline.status == "failed" or same_value(left, right):
            return None
        message = "the output differs"
    else:
        left, right = baseline.error or baseline.status, replay.error or replay.status
        message = f"the baseline is {baseline.status}, the replay {replay.status}"
    return Divergence(
        kind="output",
        step=steps,
        baseline=DivergenceSide(value=left),
        replay=DivergenceSide(value=right),
        message=message,
    )


def same_value(left: JsonValue, right: JsonValue) -> bool:
    """Whether two values are the same JSON."""
    try:
        return canonical_bytes(left) == canonical_bytes(right)
    except ValueError:
        return bool(left == right)


def _divergence(kind: DivergenceKind, place: int, left: Step | None, right: Step | None, message: str) -> Divergence:
    return Divergence(
        kind=kind,
        step=place,
        baseline=_side(left, left.arguments) if left is not None else None,
        replay=_side(right, right.arguments) if right is not None else None,
        message=f"step {place + 1}: {message}",
    )


def _side(step: Step, value: JsonValue) -> DivergenceSide:
    return DivergenceSide(
        node_id=step.node_id, index=step.index, node_type=step.node_type, name=step.name, value=value
    )


def _called(step: Step) -> str:
    kind = {"tool_call": "tool", "llm_call": "model", "subagent_call": "sub-agent"}.get(
        step.node_type, step.node_type
    )
    return f"{kind} {step.name!r}"


def call_differences(due: Step, step: Step) -> tuple[ArgumentDifference, ...]:
    """What sets one call apart from another of the same tool, or of a model."""
    if due.request is not None and step.request is not None:
        return request_differences(due.request, step.request)
    return argument_differences(due.arguments, step.arguments)


def _words(due: Step, step: Step) -> str:
    differences = call_differences(due, step)
    if not differences:
        return "arguments"
    first = differences[0]
    shown = f"{str(first.recorded)[:_SHOWN]!r} is now {str(first.called)[:_SHOWN]!r}"
    return f"arguments: {first.path or 'they'} {shown}"
