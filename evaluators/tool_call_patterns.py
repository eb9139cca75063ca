"""``rejudge/tool-call-patterns``: how much a session repeats its tools."""

from __future__ import annotations

from collections import Counter

from rejudge.evaluators.reading import tool_calls
from rejudge.evaluators.rows import evidence_of, figure, plural, shown
from rejudge.models import EvaluationResult, Node, SessionView

_TOOLS_SHOWN = 20


def evaluate(session: SessionView) -> EvaluationResult:
    """Calls beyond the first of each tool name, summed over the names."""
    calls = tool_calls(session)
    counts = Counter(node.tool_name for node in calls if node.tool_name)
    repeats = _repeats(calls)
    most = {shown(name): count for name, count in counts.most_common(_TOOLS_SHOWN) if count > 1}
    often = ", ".join(f"{name} x{count}" for name, count in list(most.items())[:5]) or "none more than once"
    unnamed = len(calls) - counts.total()
    beside = f"; {unnamed} of them without a name" if unnamed else ""
    explanation = (
        f"{plural(len(repeats), 'repeat')} in {plural(len(calls), 'tool call')} "
        f"of {plural(len(counts), 'tool')}: {often}{beside}"
    )
    evidence = evidence_of(session, repeats, tools=most, unnamed=unnamed)
    return figure("tool_call_pattern", len(repeats), explanation, evidence, maximum=len(calls), lower=True)


def _repeats(calls: list[Node]) -> list[Node]:
    seen: set[str] = set()
    repeats: list[Node] = []
    for node in calls:
        if node.tool_name in seen:
            repeats.append(node)
        elif node.tool_name:
            seen.add(node.tool_name)
    return repeats
