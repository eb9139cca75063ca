"""What the built-in evaluators mean by a tool call, a model call, a failure and an ending: said once, here."""

from __future__ import annotations

from typing import Final

from rejudge.models import TERMINAL, Node, SessionView, canonical_bytes

FAILED: Final = frozenset({"failed", "timed_out", "crashed"})
"""Statuses of a node whose work did not end well. A canceled node was stopped, it did not fail."""


def model_calls(view: SessionView) -> list[Node]:
    """L: the model calls, in order."""
    return [node for node in view.nodes if node.node_type == "llm_call"]


def tool_calls(view: SessionView) -> list[Node]:
    """T: the tool calls that were recorded, in order.

    An *inferred* call was read out of a model's messages: the model asked for it, nothing says that it ran, how long
    it took or how it ended. It is no member of T, just as it is not in the session's own ``tool_call_count``; the
    checks that need to know of every call (tool-policy, workflow-conformance) hold their verdict where there is one.
    """
    return [node for node in view.nodes if node.node_type == "tool_call" and not node.inferred]


def inferred_tool_calls(view: SessionView) -> list[Node]:
    """The tool calls a model asked for of which no run was recorded, in order."""
    return [node for node in view.nodes if node.node_type == "tool_call" and node.inferred]


def is_terminal(view: SessionView) -> bool:
    """Whether the session ended on its own: completed or failed."""
    return view.session.status in TERMINAL


def has_failed(node: Node) -> bool:
    """Whether a node's work ended badly."""
    return node.status in FAILED


def has_error(node: Node) -> bool:
    """Whether a node carries an error, as text or as a type."""
    return bool(node.error) or bool(node.error_type)


def canonical_or_none(value: object) -> bytes | None:
    """The canonical JSON of a recorded value; None where it has none (NaN, not JSON)."""
    try:
        return canonical_bytes(value)
    except ValueError:
        return None


def tool_identity(node: Node) -> tuple[str, bytes] | None:
    """What makes two tool calls the same call: tool name and canonical inputs; None where either is not known."""
    if not node.tool_name or node.inputs is None:
        return None
    inputs = canonical_or_none(node.inputs)
    return None if inputs is None else (node.tool_name, inputs)


def is_token_count(value: object) -> bool:
    """Whether a recorded value can be a number of tokens: an integer, not negative, no bool."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
