"""``rejudge/session-diagnostics``: how well a session was recorded, before anything is said about the agent."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from rejudge.evaluators.clock import ends_before_start, interval, microseconds, seconds_text
from rejudge.evaluators.cycles import on_cycles
from rejudge.evaluators.money import as_amount
from rejudge.evaluators.reading import (
    inferred_tool_calls,
    is_terminal,
    is_token_count,
    model_calls,
    tool_calls,
)
from rejudge.evaluators.rows import evidence_of, figure, json_text, plural, text
from rejudge.models import EvaluationResult, Node, Session, SessionView

_NODE_TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_tokens", "reasoning_tokens")
_SESSION_TOKENS = ("input_tokens", "output_tokens", "cached_input_tokens", "reasoning_tokens")


def evaluate(session: SessionView) -> list[EvaluationResult]:
    """Ten rows on the recording itself: ending, order, linkage, times, payloads, counts, costs and tokens."""
    return [
        _terminality(session),
        _node_order(session),
        _parent_linkage(session),
        _chronology(session),
        _payload_coverage(session),
        _recorded_counts(session),
        _duration(session),
        _cost_coverage(session),
        _token_coverage(session),
        _resource_integrity(session),
    ]


def _terminality(view: SessionView) -> EvaluationResult:
    ended = is_terminal(view)
    explanation = f"status {view.session.status}: {'ended' if ended else 'not ended'} on its own"
    return figure("terminality", int(ended), explanation, evidence_of(view, status=view.session.status), maximum=1)


def _node_order(view: SessionView) -> EvaluationResult:
    """Nodes without a start can stand anywhere; arrival is the stored order itself."""
    stored = sorted(view.nodes, key=lambda node: node.index)
    timed = [(node, start) for node in stored if (start := microseconds(node.started_at)) is not None]
    early = [node for (_, before), (node, start) in pairwise(timed) if start < before]
    explanation = f"{plural(len(early), 'node')} of {len(timed)} with a start time stored before an earlier one"
    return figure("node_order", int(not early), explanation, evidence_of(view, early, timed=len(timed)), maximum=1)


def _parent_linkage(view: SessionView) -> EvaluationResult:
    parents = {node.id: (node.parent_id,) if node.parent_id is not None else () for node in view.nodes}
    links = {node.id: tuple(node.link_ids) for node in view.nodes}
    bad_parents, bad_links = on_cycles(parents), on_cycles(links)
    absent = [node for node in view.nodes if any(name not in parents for name in _targets(node))]
    circular = [
        node
        for node in view.nodes
        if node.parent_id in bad_parents or any(name in bad_links for name in node.link_ids)
    ]
    either = {id(node) for node in (*absent, *circular)}
    wrong = [node for node in view.nodes if id(node) in either]
    explanation = (
        f"{len(wrong)} of {plural(len(view.nodes), 'node')} with a parent or link that is absent "
        f"({len(absent)}) or in a cycle ({len(circular)})"
    )
    evidence = evidence_of(view, wrong, absent=len(absent), circular=len(circular))
    return figure("parent_linkage", len(wrong), explanation, evidence, maximum=len(view.nodes), lower=True)


def _targets(node: Node) -> Iterable[str]:
    return node.link_ids if node.parent_id is None else (node.parent_id, *node.link_ids)


def _chronology(view: SessionView) -> EvaluationResult:
    wrong = [node for node in view.nodes if ends_before_start(node)]
    explanation = f"{len(wrong)} of {plural(len(view.nodes), 'node')} end before they start"
    evidence = evidence_of(view, wrong)
    return figure("chronology_findings", len(wrong), explanation, evidence, maximum=len(view.nodes), lower=True)


def _payload_coverage(view: SessionView) -> EvaluationResult:
    without = [node for node in view.nodes if node.inputs is None or node.outputs is None]
    whole = len(view.nodes) - len(without)
    explanation = f"{whole} of {plural(len(view.nodes), 'node')} with inputs and outputs"
    return figure("payload_coverage", whole, explanation, evidence_of(view, without), maximum=len(view.nodes))


def _recorded_counts(view: SessionView) -> EvaluationResult:
    own = view.session
    counts = {
        "nodes": len(view.nodes),
        "llm_calls": len(model_calls(view)),
        "tool_calls": len(tool_calls(view)),
        "inferred_tool_calls": len(inferred_tool_calls(view)),
        "session": {
            "nodes": own.node_count,
            "llm_calls": own.llm_call_count,
            "tool_calls": own.tool_call_count,
        },
    }
    explanation = (
        f"{plural(len(view.nodes), 'node')}: {plural(len(model_calls(view)), 'model call')}, "
        f"{plural(len(tool_calls(view)), 'tool call')}; the session itself says {own.node_count}, "
        f"{own.llm_call_count} and {own.tool_call_count}"
    )
    return json_text("recorded_counts", counts, explanation, evidence_of(view))


def _duration(view: SessionView) -> EvaluationResult:
    between = interval(view.session)
    value = "unavailable" if between is None else seconds_text(between[1] - between[0])
    explanation = "the session has no valid start and end" if between is None else f"{value} s from start to end"
    return text("duration_seconds", value, explanation, evidence_of(view))


def _cost_coverage(view: SessionView) -> EvaluationResult:
    calls = [node for node in view.nodes if node.node_type == "llm_call" or _is_tool_call(node)]
    without = [node for node in calls if as_amount(node.cost) is None]
    own = as_amount(view.session.cost) is not None or as_amount(view.session.recorded_cost) is not None
    score = len(calls) - len(without) + own
    explanation = (
        f"{len(calls) - len(without)} of {plural(len(calls), 'model or tool call')} with a cost; "
        f"the session has {'one' if own else 'none'}"
    )
    return figure("cost_coverage", score, explanation, evidence_of(view, without), maximum=len(calls) + 1)


def _is_tool_call(node: Node) -> bool:
    return node.node_type == "tool_call" and not node.inferred


def _token_coverage(view: SessionView) -> EvaluationResult:
    calls = model_calls(view)
    without = [node for node in calls if not _has_tokens(node)]
    own = _has_tokens(view.session)
    score = len(calls) - len(without) + own
    explanation = (
        f"{len(calls) - len(without)} of {plural(len(calls), 'model call')} with input and output tokens; "
        f"the session has {'both' if own else 'not both'}"
    )
    return figure("token_coverage", score, explanation, evidence_of(view, without), maximum=len(calls) + 1)


def _has_tokens(record: Node | Session) -> bool:
    return record.input_tokens is not None and record.output_tokens is not None


def _resource_integrity(view: SessionView) -> EvaluationResult:
    own = _bad_fields(view.session, ("cost", "recorded_cost"), _SESSION_TOKENS)
    bad = [(node, fields) for node in view.nodes if (fields := _bad_fields(node, ("cost",), _NODE_TOKENS))]
    names = sorted({name for _, fields in bad for name in fields} | set(own))
    total = len(own) + sum(len(fields) for _, fields in bad)
    explanation = f"{plural(total, 'impossible cost or token field')} in {plural(len(bad), 'node')}"
    if own:
        explanation += " and the session"
    evidence = evidence_of(view, [node for node, _ in bad], fields=names, session_fields=own)
    return figure("resource_integrity", total, explanation, evidence, lower=True)


def _bad_fields(record: Node | Session, costs: tuple[str, ...], tokens: tuple[str, ...]) -> list[str]:
    fields = record.__dict__
    bad = [name for name in costs if fields.get(name) is not None and as_amount(fields[name]) is None]
    return bad + [name for name in tokens if fields.get(name) is not None and not is_token_count(fields[name])]
