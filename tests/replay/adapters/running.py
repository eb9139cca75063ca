"""Runs of an agent in this process: recorded, and replayed under a tape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import rejudge
from rejudge.errors import ReplayEnded
from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PassthroughPolicy, PolicySet, UntilDivergencePolicy
from rejudge.models.replay import Divergence, Fidelity
from rejudge.models.session import SessionView
from rejudge.otel.processor import SpanHandOver
from rejudge.otel.run import assemble_run
from rejudge.otel.span import Batch, Span
from rejudge.replay import first_divergence, replaying, same_output, same_steps
from rejudge.replay.failures import plain_message
from rejudge.replay.listening import new_provider
from rejudge.replay.outcome import fidelity_of
from rejudge.replay.spans import ANSWER, set_failure, set_outputs, start_agent_span
from rejudge.replay.values import jsonable

OFFLINE = PolicySet(models_default=HistoryPolicy())
"""Everything from the tape."""
UNTIL = PolicySet(models_default=UntilDivergencePolicy(), tools_default=HistoryPolicy(on_miss="passthrough"))
"""From the tape as long as the run is the baseline's."""
LIVE_TOOLS = PolicySet(models_default=UntilDivergencePolicy(), tools_default=PassthroughPolicy())


@dataclass(frozen=True)
class Outcome:
    """What a replay in this process came to."""

    view: SessionView
    outputs: Any
    fidelity: Fidelity
    divergence: Divergence | None
    applied: list[str]
    error: BaseException | None


def recorded(run: Callable[[Any], Any], inputs: Any) -> SessionView:
    """The session of one run."""
    kept: list[Any] = []
    with rejudge.record("desk", inputs=inputs, save=kept.append) as recording:
        recording.outputs = run(inputs)
    view: SessionView = kept[0].view
    return view


def replayed(
    run: Callable[[Any], Any],
    baseline: SessionView,
    *,
    policies: PolicySet = OFFLINE,
    override: Override | None = None,
    fork: str | None = None,
    inputs: Any = None,
) -> Outcome:
    """One run again, answered by a baseline."""
    inputs = baseline.session.inputs if inputs is None else inputs
    ear = _Ear()
    outputs, error = None, None
    with replaying(baseline, policies=policies, override=override, fork=fork) as replay:
        root = start_agent_span("desk", inputs)
        with trace.use_span(root, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            try:
                outputs = jsonable(run(inputs))
                set_outputs(root, outputs)
            except (Exception, ReplayEnded) as failure:
                error = failure
                set_failure(root, failure)
    told = replay.told
    known = {"inputs": inputs, "origin": "replay", "agent": "desk"}
    recording = assemble_run(Batch(ear.close(root), []), source="test", external_id="replay", known=known)
    assert recording is not None
    view = recording.view
    fidelity = fidelity_of(told).model_copy(
        update={
            "tools_equal": same_steps(baseline, view, "tool_call"),
            "requests_equal": same_steps(baseline, view, "llm_call"),
            "output_equal": same_output(baseline.session, view.session),
        }
    )
    return Outcome(view, outputs, fidelity, first_divergence(baseline, view), told.applied, error)


def assert_equal(outcome: Outcome, baseline: SessionView) -> None:
    """The replay equals its baseline in all that counts, and nothing of it was live."""
    assert outcome.error is None, outcome.error
    assert outcome.divergence is None, outcome.divergence.message
    assert outcome.fidelity.ratio == 1.0
    assert outcome.fidelity.tools_equal and outcome.fidelity.requests_equal and outcome.fidelity.output_equal
    assert sorted(map(str, tools(outcome.view))) == sorted(map(str, tools(baseline)))  # their order was looked at
    assert outcome.view.session.outputs == baseline.session.outputs
    assert len(outcome.view.llm_calls) == len(baseline.llm_calls)


def tools(view: SessionView) -> list[Any]:
    """Name, arguments and result of every tool call."""
    return [
        (node.tool_name, node.inputs, node.outputs, plain_message(node.error_type, node.error or ""))
        for node in view.tool_calls
    ]


def answers(view: SessionView) -> list[str]:
    """Where the answer to every model call came from."""
    return [str((node.attributes or {})[ANSWER]) for node in view.llm_calls]


class _Ear:
    def __init__(self) -> None:
        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(new_provider("desk"))
        provider = trace.get_tracer_provider()
        assert isinstance(provider, TracerProvider)
        self._spans: list[Span] = []
        self._processor = SpanHandOver(self._spans.append)
        provider.add_span_processor(self._processor)

    def close(self, root: trace.Span) -> list[Span]:
        heard, self._spans = self._spans, []
        wanted = trace.format_trace_id(root.get_span_context().trace_id)
        return [span for span in heard if span.trace_id == wanted]
