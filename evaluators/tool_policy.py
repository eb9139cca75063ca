"""``rejudge/tool-policy``: which tools must, must not and may how often be called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field

from rejudge.evaluators.reading import inferred_tool_calls, is_terminal, tool_calls
from rejudge.evaluators.rows import evidence_of, figure, listed, plural, shown
from rejudge.models import EvaluationResult, Node, SessionView

Names: TypeAlias = Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
Maximums: TypeAlias = Annotated[dict[str, Annotated[int, Field(ge=0)]], Field(min_length=1)]


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where the rules can be met.

    Raises:
        ValueError: No rule at all, or one that contradicts another.
    """
    required, forbidden = params.get("required_tools") or [], params.get("forbidden_tools") or []
    maximums = params.get("max_calls_per_tool") or {}
    if not required and not forbidden and not maximums:
        raise ValueError("set at least one of required_tools, forbidden_tools and max_calls_per_tool")
    impossible = [name for name in required if name in forbidden or maximums.get(name) == 0]
    if impossible:
        raise ValueError(f"{impossible[0]!r} is required and may not be called")


def evaluate(
    session: SessionView,
    *,
    required_tools: Names | None = None,
    forbidden_tools: Names | None = None,
    max_calls_per_tool: Maximums | None = None,
) -> list[EvaluationResult]:
    """A row for how many tool calls have a name, and one for each rule that is set.

    Args:
        session: The session.
        required_tools: Tools that must be called at least once.
        forbidden_tools: Tools that must not be called.
        max_calls_per_tool: Tool → how often it may be called at most.
    """
    rows, counts = [name_coverage(session)], _counts(session)
    if required_tools is not None:
        rows.append(_required(session, list(dict.fromkeys(required_tools))))
    if forbidden_tools is not None:
        seen = [name for name in dict.fromkeys(forbidden_tools) if counts[name]]
        rules = len(set(forbidden_tools))
        rows.append(_limit_row(session, "forbidden_tools", seen, rules, "forbidden tool", "called"))
    if max_calls_per_tool is not None:
        over = [name for name, most in max_calls_per_tool.items() if counts[name] > most]
        rules = len(max_calls_per_tool)
        rows.append(_limit_row(session, "per_tool_maximums", over, rules, "tool", "called more often than allowed"))
    return rows


def name_coverage(view: SessionView) -> EvaluationResult:
    """How many tool calls carry the tool's name."""
    calls = tool_calls(view)
    unnamed = [node for node in calls if not node.tool_name]
    named = len(calls) - len(unnamed)
    explanation = f"{named} of {plural(len(calls), 'tool call')} with a name"
    return figure("tool_name_coverage", named, explanation, evidence_of(view, unnamed), maximum=len(calls))


def every_call_is_known(view: SessionView) -> bool:
    """Whether the session is over and all its tool calls are recorded by name."""
    return is_terminal(view) and not any(
        node.node_type == "tool_call" and (node.inferred or not node.tool_name) for node in view.nodes
    )


def _counts(view: SessionView) -> Counter[str]:
    return Counter(node.tool_name for node in tool_calls(view) if node.tool_name)


def _called(view: SessionView, names: Iterable[str]) -> list[Node]:
    wanted = set(names)
    if not wanted:
        return []
    return [node for node in tool_calls(view) if node.tool_name in wanted]


def _required(view: SessionView, required: list[str]) -> EvaluationResult:
    counts = _counts(view)
    missing = [name for name in required if not counts[name]]
    explanation = f"{len(missing)} of {plural(len(required), 'required tool')} never called"
    if missing:
        explanation += f": {listed(missing)}"
    passed = not missing if every_call_is_known(view) else None
    evidence = evidence_of(view, _called(view, required), missing=[shown(name) for name in missing[:50]])
    return figure(
        "required_tools",
        len(missing),
        explanation + _held(view, passed),
        evidence,
        maximum=len(required),
        lower=True,
        passed=passed,
    )


def _limit_row(
    view: SessionView, name: str, broken: list[str], rules: int, noun: str, words: str
) -> EvaluationResult:
    counts = _counts(view)
    explanation = f"{len(broken)} of {plural(rules, noun)} {words}"
    if broken:
        explanation += ": " + listed(f"{tool} x{counts[tool]}" for tool in broken)
    passed = False if broken else (True if every_call_is_known(view) else None)
    evidence = evidence_of(view, _called(view, broken), tools={shown(tool): counts[tool] for tool in broken[:50]})
    explanation += _held(view, passed)
    return figure(name, len(broken), explanation, evidence, maximum=rules, lower=True, passed=passed)


def _held(view: SessionView, passed: bool | None) -> str:
    """Why there is no verdict, where there is none."""
    if passed is not None:
        return ""
    if not is_terminal(view):
        return f"; no verdict while the session is {view.session.status}"
    asked = inferred_tool_calls(view)
    if asked:
        return f"; no verdict, because {plural(len(asked), 'call')} a model asked for left no record of a run"
    return "; no verdict, because a call without a name may be any tool"
