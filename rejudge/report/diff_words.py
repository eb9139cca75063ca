"""Two sessions side by side, in words: the same in the terminal, in Markdown and in HTML. Nothing here is escaped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rejudge.models.canonical import JsonValue
from rejudge.models.replay import AlignedStep, ArgumentDifference, DivergenceSide
from rejudge.models.safe_text import ELLIPSIS, cut
from rejudge.models.session_diff import DiffSide, SessionDiff
from rejudge.report.wording import NONE

State: TypeAlias = Literal["same", "changed", "result", "missing", "extra"]

MARKS: Final[Mapping[str, str]] = {"same": "=", "changed": "≠", "result": "≈", "missing": "-", "extra": "+"}
"""One sign a state, so that colour is never all that tells."""
STATES: Final[Mapping[str, str]] = {
    "same": "same",
    "changed": "called with something else",
    "result": "returned something else",
    "missing": "not made any more",
    "extra": "new",
}
AROUND: Final = 2
"""Equal steps that are shown before and after a difference; the rest are counted."""

_KINDS: Final = {"llm_call": "model", "tool_call": "tool", "subagent_call": "sub-agent"}


@dataclass(frozen=True, slots=True)
class Gap:
    """Equal steps that are left out."""

    count: int


@dataclass(frozen=True, slots=True)
class Row:
    """One step of both."""

    number: int
    """Its place among the rows, from 1."""
    step: AlignedStep
    first: bool
    """Whether the two part here."""

    @property
    def label(self) -> str:
        """What was called: ``tool refund_payment``."""
        left, right = self.step.baseline, self.step.replay
        names = dict.fromkeys(one.name or "" for one in (left, right) if one is not None)
        side = left or right
        assert side is not None
        return f"{_KINDS.get(side.node_type or '', side.node_type)} {' → '.join(names)}"


def rows(diff: SessionDiff) -> list[Row]:
    """Every row."""
    return [Row(at + 1, step, at == diff.first) for at, step in enumerate(diff.steps)]


def folded(all_rows: Sequence[Row]) -> Iterator[Row | Gap]:
    """The rows that differ and those around them."""
    wanted: set[int] = set()
    for at, row in enumerate(all_rows):
        if row.step.state != "same" or row.first:
            wanted.update(range(at - AROUND, at + AROUND + 1))
    skipped = 0
    for at, row in enumerate(all_rows):
        if at in wanted:
            if skipped:
                yield Gap(skipped)
            skipped = 0
            yield row
        else:
            skipped += 1
    if skipped:
        yield Gap(skipped)


def headline(diff: SessionDiff) -> str:
    """Whether and where they part, in one line."""
    if diff.divergence is None:
        return "no difference: the same calls, results and output"
    return f"first difference at {diff.divergence.message}"


def summary(diff: SessionDiff) -> str:
    """How many rows there are of each kind."""
    counts = diff.counts
    told = [f"{counts[state]} {STATES[state]}" for state in STATES if counts.get(state)]
    output = "the same output" if diff.same_output else "another output"
    return ", ".join([*told, output]) if told else f"no calls, {output}"


def side_name(side: DiffSide) -> str:
    """``session 12 (support@2, completed)``."""
    agent = f"{side.agent}@{side.agent_version}" if side.agent_version is not None else side.agent
    what = "replay, " if side.origin == "replay" else ""
    return f"session {side.number} ({what}{agent}, {side.status})"


def arguments_text(side: DivergenceSide | None) -> str:
    """What a step was called with: a tool's arguments, a model's last message."""
    value = _part(side, "arguments")
    if side is not None and side.node_type == "llm_call" and isinstance(value, dict):
        messages = value.get("messages") or []
        return message_text(messages[-1]) if messages else ""
    return json_text(value)


def result_text(side: DivergenceSide | None) -> str:
    """What a step returned, or how it failed."""
    value = _part(side, "result")
    if isinstance(value, dict):
        if set(value) == {"error", "type"}:
            return f"failed: {value['type']}: {value['error']}" if value["type"] else f"failed: {value['error']}"
        if side is not None and side.node_type == "llm_call" and isinstance(value.get("messages"), list):
            return "\n".join(message_text(one) for one in value["messages"])
    return json_text(value)


def message_text(message: Any) -> str:
    """A message in the GenAI schema as a person reads it."""
    if not isinstance(message, dict):
        return json_text(message)
    parts = [_part_text(part) for part in message.get("parts") or ()]
    return f"{message.get('role', 'user')}: " + "\n".join(part for part in parts if part)


def _part_text(part: Any) -> str:
    if not isinstance(part, dict):
        return json_text(part)
    kind = part.get("type", "text")
    if kind == "tool_call":
        return f"{part.get('name')}({json_text(part.get('arguments') or {})})"
    if kind == "tool_call_response":
        return f"→ {json_text(part.get('response', part.get('result')))}"
    content = part.get("content", part.get("text"))
    return content if isinstance(content, str) else json_text(part)


def difference_text(one: ArgumentDifference) -> tuple[str, str, str]:
    """Where, what it was, what it is; a dash for nothing."""
    was = NONE if one.kind == "added" else json_text(one.recorded)
    now = NONE if one.kind == "removed" else json_text(one.called)
    return one.path or "/", was, now


def output_texts(diff: SessionDiff) -> tuple[str, str]:
    """How both ended: their outputs, or why there are none."""
    left, right = diff.baseline, diff.replay
    if left.status == right.status:
        return json_text(left.outputs), json_text(right.outputs)
    return _ending(left), _ending(right)


def _ending(side: DiffSide) -> str:
    return f"{side.status}: {side.error if side.error is not None else json_text(side.outputs)}"


def input_texts(diff: SessionDiff) -> tuple[str, str]:
    """What both were started with."""
    return json_text(diff.baseline.inputs), json_text(diff.replay.inputs)


def excerpts(was: str, now: str, *, limit: int) -> tuple[str, str]:
    """Two texts, each from shortly before the place where they part, so that it is seen."""
    same = next((at for at, (one, other) in enumerate(zip(was, now, strict=False)) if one != other), None)
    same = min(len(was), len(now)) if same is None else same
    start = max(0, same - limit // 4) if max(len(was), len(now)) > limit else 0
    lead = ELLIPSIS if start else ""
    return cut(lead + was[start:], limit), cut(lead + now[start:], limit)


def json_text(value: JsonValue) -> str:
    """A value on one line: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _part(side: DivergenceSide | None, name: str) -> JsonValue:
    return side.value.get(name) if side is not None and isinstance(side.value, dict) else None
