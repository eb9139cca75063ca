"""Two sessions laid side by side, step by step: what a person looks at to see where they part."""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import zip_longest

from rejudge.models.canonical import canonical_text
from rejudge.models.replay import AlignedStep, DivergenceSide
from rejudge.models.session import SessionView
from rejudge.replay.divergence import call_differences, compared_steps
from rejudge.replay.request import known_parameters
from rejudge.replay.steps import Step


def aligned_steps(baseline: SessionView, replay: SessionView) -> list[AlignedStep]:
    """Every step of both, in order, with the same calls beside each other.

    Unlike `first_divergence` it goes on after the first difference, so it is for looking at, not for judging.
    """
    left, right = (_settled(steps) for steps in compared_steps(baseline, replay))
    matcher = SequenceMatcher(None, [_token(step) for step in left], [_token(step) for step in right], autojunk=False)
    rows: list[AlignedStep] = []
    for kind, start, end, again, stop in matcher.get_opcodes():
        if kind == "equal":
            rows += [_same(one, other) for one, other in zip(left[start:end], right[again:stop], strict=True)]
        else:
            rows += _parted(left[start:end], right[again:stop])
    return rows


def _settled(steps: list[Step]) -> list[Step]:
    """Steps that ran side by side in an order that says nothing."""
    return sorted(steps, key=lambda step: (step.group, "" if step.covers else canonical_text(_token(step))))


def _token(step: Step) -> tuple[str, ...]:
    settings = canonical_text(known_parameters(step.request)) if step.request is not None else ""
    return step.node_type, step.name, step.key or "", settings


def _same(one: Step, other: Step) -> AlignedStep:
    return AlignedStep(
        state="same" if one.same_result(other) else "result",
        baseline=_side(one),
        replay=_side(other),
        answered=other.answered,
    )


def _parted(left: list[Step], right: list[Step]) -> list[AlignedStep]:
    """Calls of the same tool beside each other where both sides made one at that place; the rest one-sided."""
    rows: list[AlignedStep] = []
    for one, other in zip_longest(left, right):
        if one is not None and other is not None and one.same_callee(other):
            rows.append(_changed(one, other))
            continue
        if one is not None:
            rows.append(AlignedStep(state="missing", baseline=_side(one)))
        if other is not None:
            rows.append(AlignedStep(state="extra", replay=_side(other), answered=other.answered))
    return rows


def _changed(one: Step, other: Step) -> AlignedStep:
    # Where one side's payload is not whole, the name is all that can be compared.
    if one.same_call(other):
        return _same(one, other)
    return AlignedStep(
        state="changed",
        baseline=_side(one),
        replay=_side(other),
        answered=other.answered,
        differences=call_differences(one, other),
    )


def _side(step: Step) -> DivergenceSide:
    return DivergenceSide(
        node_id=step.node_id,
        index=step.index,
        node_type=step.node_type,
        name=step.name,
        value={"arguments": step.arguments, "result": step.shown_result},
    )
