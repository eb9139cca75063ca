"""``rejudge/tool-arguments``: what the named tools were called with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, JsonValue

from rejudge.evaluators.json_schemas import check_schema, violations
from rejudge.evaluators.reading import canonical_or_none, tool_calls
from rejudge.evaluators.rows import evidence_of, figure, plural, shown
from rejudge.evaluators.tool_policy import every_call_is_known
from rejudge.models import EvaluationResult, Node, SessionView

Match: TypeAlias = Literal["every", "any"]
Schemas: TypeAlias = Annotated[dict[str, dict[str, JsonValue]], Field(min_length=1)]
Subsets: TypeAlias = Annotated[dict[str, JsonValue], Field(min_length=1)]


def check_params(params: Mapping[str, Any]) -> None:
    """Nothing where there is a rule and every schema can be used.

    Raises:
        ValueError: Otherwise.
    """
    if not params.get("schemas") and not params.get("subsets"):
        raise ValueError("set at least one of schemas and subsets: tool name → rule")
    for tool, schema in (params.get("schemas") or {}).items():
        check_schema(f"schemas[{tool!r}]", schema)


def evaluate(
    session: SessionView,
    *,
    schemas: Schemas | None = None,
    subsets: Subsets | None = None,
    match: Match = "every",
) -> list[EvaluationResult]:
    """A row for how many of the named tools' calls have arguments, and one for each kind of rule.

    Args:
        session: The session.
        schemas: Tool name → JSON Schema of its arguments.
        subsets: Tool name → arguments that must be among the recorded ones, at any depth.
        match: Whether every call of a tool must keep its rule, or at least one call must.
    """
    named = set(schemas or {}) | set(subsets or {})
    calls = [node for node in tool_calls(session) if node.tool_name in named]
    without = [node for node in calls if node.inputs is None]
    rows = [
        figure(
            "argument_coverage",
            len(calls) - len(without),
            f"{len(calls) - len(without)} of {plural(len(calls), 'call')} of the named tools with arguments",
            evidence_of(session, without),
            maximum=len(calls),
        )
    ]
    if schemas is not None:
        rules = {tool: _schema_rule(schema) for tool, schema in schemas.items()}
        rows.append(_row(session, "argument_schemas", rules, match))
    if subsets is not None:
        parts = {tool: _subset_rule(subset) for tool, subset in subsets.items()}
        rows.append(_row(session, "argument_subsets", parts, match))
    return rows


_Rule: TypeAlias = Callable[[object], list[str]]


@dataclass(frozen=True, slots=True)
class _Finding:
    node: Node
    broken: list[str]


def _row(view: SessionView, name: str, rules: Mapping[str, _Rule], match: Match) -> EvaluationResult:
    calls = [node for node in tool_calls(view) if node.tool_name in rules]
    findings = [
        _Finding(node, rules[node.tool_name or ""](_arguments(node))) for node in calls if node.inputs is not None
    ]
    broken = [finding for finding in findings if finding.broken]
    known = every_call_is_known(view) and len(findings) == len(calls)
    if match == "every":
        passed = False if broken else (True if known else None)
        score, maximum = len(broken), len(calls)
        explanation = f"{len(broken)} of {plural(len(calls), 'call')} break their rule"
    else:
        kept = {finding.node.tool_name for finding in findings if not finding.broken}
        lacking = [tool for tool in rules if tool not in kept]
        passed = (not lacking) if known else None
        score, maximum = len(lacking), len(rules)
        explanation = f"{len(lacking)} of {plural(len(rules), 'tool')} without a call that keeps its rule"
    if broken:
        explanation += f"; the first: {shown(broken[0].node.tool_name)} {shown(broken[0].broken[0])}"
    places = [{"node": shown(one.node.id), "broken": [shown(each) for each in one.broken[:5]]} for one in broken[:20]]
    evidence = evidence_of(view, [finding.node for finding in broken], places=places)
    return figure(name, score, explanation, evidence, maximum=maximum, lower=True, passed=passed)


def _arguments(node: Node) -> object:
    """Some tracers record the arguments as the JSON text that the model wrote."""
    if not isinstance(node.inputs, str):
        return node.inputs
    try:
        return json.loads(node.inputs)
    except (ValueError, RecursionError):
        return node.inputs


def _schema_rule(schema: dict[str, JsonValue]) -> _Rule:
    return lambda arguments: violations(schema, arguments)


def _subset_rule(subset: JsonValue) -> _Rule:
    return lambda arguments: _differences(subset, arguments, "$")


def _differences(subset: object, value: object, path: str) -> list[str]:
    """Where a value does not hold a subset: objects key by key, lists member by member, scalars exactly."""
    if isinstance(subset, dict):
        if not isinstance(value, dict):
            return [f"{path} is no object"]
        found = [f"{path}.{key} is absent" for key in subset if key not in value]
        return found + [
            each for key in subset if key in value for each in _differences(subset[key], value[key], f"{path}.{key}")
        ]
    if isinstance(subset, list):
        if not isinstance(value, list) or len(value) != len(subset):
            return [f"{path} is no list of {len(subset)}"]
        pairs = enumerate(zip(subset, value, strict=True))
        return [each for index, (one, other) in pairs for each in _differences(one, other, f"{path}[{index}]")]
    return [] if canonical_or_none(subset) == canonical_or_none(value) else [f"{path} differs"]
