"""``rejudge/llm-call-signals``: whether the model calls were well and well recorded."""

from __future__ import annotations

from itertools import pairwise

from rejudge.evaluators.reading import canonical_or_none, has_failed, model_calls
from rejudge.evaluators.rows import evidence_of, figure, plural
from rejudge.models import EvaluationResult, Node, SessionView


def evaluate(session: SessionView) -> list[EvaluationResult]:
    """Failures, empty answers, repeated requests, other models than asked for, and missing metadata."""
    calls = model_calls(session)
    again = [second for first, second in pairwise(calls) if _same_inputs(first, second)]
    pairs = max(len(calls) - 1, 0)
    return [
        _share(session, "failed_calls", [node for node in calls if has_failed(node)], "failed"),
        _share(session, "empty_results", [node for node in calls if is_empty_answer(node.outputs)], "with no result"),
        figure(
            "adjacent_identical_inputs",
            len(again),
            f"{len(again)} of {plural(pairs, 'neighbouring pair')} of model calls with the same inputs",
            evidence_of(session, again),
            maximum=pairs,
            lower=True,
        ),
        _share(
            session,
            "requested_model_mismatches",
            [node for node in calls if is_other_model(node)],
            "answered by another model than the requested one",
        ),
        _metadata_coverage(session),
    ]


def is_other_model(node: Node) -> bool:
    """Whether the model that answered is known not to be the requested one."""
    return bool(node.model) and bool(node.requested_model) and node.model != node.requested_model


def is_empty_answer(outputs: object) -> bool:
    """Whether a model call gave nothing: null, "", [], {}, or messages without a word and without a tool call."""
    if outputs is None:
        return True
    if isinstance(outputs, dict) and isinstance(outputs.get("messages"), list):
        return not any(_says_something(message) for message in outputs["messages"])
    return isinstance(outputs, str | list | dict) and not outputs


def _says_something(message: object) -> bool:
    if not isinstance(message, dict):
        return bool(message)
    parts = message.get("parts", message.get("content"))
    if isinstance(parts, list):
        return any(_is_part(part) for part in parts) or bool(message.get("tool_calls"))
    return bool(parts) or bool(message.get("tool_calls"))


def _is_part(part: object) -> bool:
    if isinstance(part, dict) and part.get("type") in ("text", "reasoning"):
        return bool(part.get("content", part.get("text")))
    return bool(part)


def _same_inputs(first: Node, second: Node) -> bool:
    if first.inputs is None or second.inputs is None or not _maybe_equal(first.inputs, second.inputs):
        return False
    canonical = canonical_or_none(first.inputs)
    return canonical is not None and canonical == canonical_or_none(second.inputs)


def _maybe_equal(one: object, other: object) -> bool:
    """Cheap, and never False for what is canonically equal."""
    try:
        return one == other
    except RecursionError:
        return True


def _share(view: SessionView, name: str, found: list[Node], words: str) -> EvaluationResult:
    total = len(model_calls(view))
    explanation = f"{len(found)} of {plural(total, 'model call')} {words}"
    return figure(name, len(found), explanation, evidence_of(view, found), maximum=total, lower=True)


def _metadata_coverage(view: SessionView) -> EvaluationResult:
    calls = model_calls(view)
    facts = [
        (
            bool(node.model),
            bool(node.provider),
            bool(node.requested_model),
            node.input_tokens is not None and node.output_tokens is not None,
        )
        for node in calls
    ]
    names = ("model", "provider", "requested_model", "tokens")
    present = {name: sum(fact[position] for fact in facts) for position, name in enumerate(names)}
    total = sum(present.values())
    beside = ", ".join(f"{name} {count}" for name, count in present.items())
    explanation = f"{total} of {plural(4 * len(calls), 'fact')} on {plural(len(calls), 'model call')}: {beside}"
    lacking = [node for node, fact in zip(calls, facts, strict=True) if not all(fact)]
    evidence = evidence_of(view, lacking, present=present)
    return figure("metadata_coverage", total, explanation, evidence, maximum=4 * len(calls))
