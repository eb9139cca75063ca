"""``rejudge/workflow-conformance``: the tool calls against the expected course of work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from rejudge.evaluators.reading import inferred_tool_calls, is_terminal, tool_calls
from rejudge.evaluators.rows import evidence_of, figure, listed, plural, shown
from rejudge.evaluators.tool_policy import every_call_is_known, name_coverage
from rejudge.models import EvaluationResult, Node, SessionView

Mode: TypeAlias = Literal["exact_order", "in_order", "contains_all", "exact_set"]
Names: TypeAlias = list[Annotated[str, Field(min_length=1)]]


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where the expectation says something.

    Raises:
        ValueError: No expected tools where any course of work would do.
    """
    mode = params.get("mode", "exact_order")
    if not params.get("expected_tools") and mode in ("in_order", "contains_all"):
        raise ValueError(f"expected_tools is empty, which every session matches in mode {mode}")


def evaluate(session: SessionView, *, expected_tools: Names, mode: Mode = "exact_order") -> list[EvaluationResult]:
    """Whether the tools were called as expected.

    Args:
        session: The session.
        expected_tools: Tool names, in the expected order.
        mode: ``exact_order``: these calls and no others, in this order; ``in_order``: these calls in this order,
            others between them; ``contains_all``: each at least as often as it is named; ``exact_set``: these tools
            and no others, in any order and number.
    """
    calls = tool_calls(session)
    names = [node.tool_name or None for node in calls]
    matched = _matches(names, expected_tools, mode)
    wrong = _beyond_mending(calls, expected_tools, mode) if not inferred_tool_calls(session) else []
    unexpected = [node for node in calls if node.tool_name and node.tool_name not in set(expected_tools)]
    if mode == "exact_set":
        wrong = unexpected
    passed: bool | None = matched if every_call_is_known(session) else None
    if passed is None and wrong:
        passed = False
    counted = Counter(name for name in names if name)
    missing = list((Counter(expected_tools) - counted).elements())
    explanation = (
        f"{plural(len(calls), 'tool call')} {'match' if matched else 'do not match'} "
        f"{plural(len(expected_tools), 'expected tool')} in mode {mode}"
    )
    if missing:
        explanation += f"; missing {listed(missing)}"
    if unexpected:
        explanation += f"; unexpected {listed(dict.fromkeys(node.tool_name for node in unexpected))}"
    if passed is None:
        explanation += (
            f"; no verdict: {'the session is not over' if not is_terminal(session) else 'calls are unknown'}"
        )
    evidence = evidence_of(session, wrong or unexpected, missing=[shown(name) for name in missing[:50]], mode=mode)
    row = figure("workflow_match", int(matched), explanation, evidence, maximum=1, passed=passed)
    return [name_coverage(session), row]


def _matches(names: Sequence[str | None], expected: Sequence[str], mode: Mode) -> bool:
    if mode == "exact_order":
        return list(names) == list(expected)
    if mode == "in_order":
        remaining = iter(names)
        return all(name in remaining for name in expected)
    if mode == "contains_all":
        return not Counter(expected) - Counter(name for name in names if name)
    return None not in names and set(names) == set(expected)


def _beyond_mending(calls: Sequence[Node], expected: Sequence[str], mode: Mode) -> list[Node]:
    """The first call that no continuation could make right in exact order; a call without a name may be any."""
    if mode != "exact_order":
        return []
    for position, node in enumerate(calls):
        if position >= len(expected) or (node.tool_name and node.tool_name != expected[position]):
            return [node]
    return []
