"""``rejudge/tool-health``: whether the tools did their part."""

from __future__ import annotations

from itertools import pairwise

from rejudge.evaluators.reading import has_error, has_failed, tool_calls
from rejudge.evaluators.rows import evidence_of, figure, plural
from rejudge.models import EvaluationResult, Node, SessionView


def evaluate(session: SessionView) -> list[EvaluationResult]:
    """Failures, null and empty results, statuses that contradict their errors, and failures in a row."""
    calls = tool_calls(session)
    again = [
        second
        for first, second in pairwise(calls)
        if has_failed(first) and has_failed(second) and first.tool_name and first.tool_name == second.tool_name
    ]
    return [
        _share(session, "failed_calls", [node for node in calls if has_failed(node)], "failed"),
        _share(session, "null_results", [node for node in calls if node.outputs is None], "with a null result"),
        _share(session, "empty_results", [node for node in calls if _is_empty(node)], 'with "", [] or {} as result'),
        _share(
            session,
            "error_status_inconsistencies",
            [node for node in calls if has_failed(node) != has_error(node)],
            "failed without an error or with an error without having failed",
        ),
        figure(
            "adjacent_repeated_failures",
            len(again),
            f"{len(again)} of {plural(max(len(calls) - 1, 0), 'neighbouring pair')} of tool calls "
            "both failures of the same tool",
            evidence_of(session, again),
            maximum=max(len(calls) - 1, 0),
            lower=True,
        ),
    ]


def _share(view: SessionView, name: str, found: list[Node], words: str) -> EvaluationResult:
    total = len(tool_calls(view))
    explanation = f"{len(found)} of {plural(total, 'tool call')} {words}"
    return figure(name, len(found), explanation, evidence_of(view, found), maximum=total, lower=True)


def _is_empty(node: Node) -> bool:
    return isinstance(node.outputs, str | list | dict) and not node.outputs
