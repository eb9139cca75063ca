"""The built-in evaluators by name: where each lives, what it says, and whether it is quick. Imports nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """One built-in evaluator."""

    entrypoint: str
    """``module:attribute``; the module may hold ``check_params``, ``PROVIDER`` and ``CONNECTION_SCHEMA`` too."""
    description: str
    """One line for lists."""
    mode: Literal["fast", "slow"] = "fast"
    """``slow`` where it may call a model."""


CATALOG: Final[Mapping[str, BuiltIn]] = MappingProxyType(
    {
        "rejudge/cost": BuiltIn("rejudge.evaluators.cost:evaluate", "What the session cost, in US dollars"),
        "rejudge/latency": BuiltIn("rejudge.evaluators.latency:evaluate", "How long the session took, in seconds"),
        "rejudge/tool-call-patterns": BuiltIn(
            "rejudge.evaluators.tool_call_patterns:evaluate", "How often tools are called again"
        ),
        "rejudge/session-diagnostics": BuiltIn(
            "rejudge.evaluators.session_diagnostics:evaluate", "How well the session was recorded"
        ),
        "rejudge/output-contract": BuiltIn(
            "rejudge.evaluators.output_contract:evaluate", "The final answer against what was agreed about it"
        ),
        "rejudge/trajectory-signals": BuiltIn(
            "rejudge.evaluators.trajectory_signals:evaluate",
            "Identical neighbours, retries and short cycles among the tool calls",
        ),
        "rejudge/tool-health": BuiltIn(
            "rejudge.evaluators.tool_health:evaluate", "Failed, null and empty tool results"
        ),
        "rejudge/timing-profile": BuiltIn(
            "rejudge.evaluators.timing_profile:evaluate", "Where the time went: slowest nodes, overlaps"
        ),
        "rejudge/llm-call-signals": BuiltIn(
            "rejudge.evaluators.llm_call_signals:evaluate", "Failed, empty, repeated and misdirected model calls"
        ),
        "rejudge/resource-budget": BuiltIn(
            "rejudge.evaluators.resource_budget:evaluate", "Ceilings on time, money, tokens and steps"
        ),
        "rejudge/tool-policy": BuiltIn(
            "rejudge.evaluators.tool_policy:evaluate", "Which tools must, must not and may how often be called"
        ),
        "rejudge/model-policy": BuiltIn(
            "rejudge.evaluators.model_policy:evaluate", "Which models and providers may answer"
        ),
        "rejudge/workflow-conformance": BuiltIn(
            "rejudge.evaluators.workflow_conformance:evaluate", "The tool calls against the expected course of work"
        ),
        "rejudge/text-checks": BuiltIn(
            "rejudge.evaluators.text_checks:evaluate", "What a recorded text must, must not and may say"
        ),
        "rejudge/tool-arguments": BuiltIn(
            "rejudge.evaluators.tool_arguments:evaluate", "What the named tools were called with"
        ),
        "rejudge/leaks": BuiltIn(
            "rejudge.evaluators.leaks:evaluate", "Secrets and personal data in outputs and tool arguments"
        ),
        "rejudge/answer-match": BuiltIn(
            "rejudge.evaluators.answer_match:evaluate",
            "The final answer against expected ones, through a provider",
            mode="slow",
        ),
        "rejudge/judge": BuiltIn(
            "rejudge.evaluators.judge.evaluator:evaluate", "Typed questions to a model about the session", mode="slow"
        ),
    }
)

BUILT_IN: Final[Mapping[str, str]] = MappingProxyType({name: entry.entrypoint for name, entry in CATALOG.items()})
"""Name → ``module:attribute`` of every built-in evaluator."""
