"""Running a replay: one session, one agent, one result."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import uuid_utils

from rejudge.errors import ReplayError
from rejudge.models.agent import AgentSpec
from rejudge.models.canonical import JsonValue, digest_of
from rejudge.models.override import Override
from rejudge.models.policy import PolicySet, Scope
from rejudge.models.recording import Recording
from rejudge.models.replay import Fidelity, ReplayPlan, ReplayResult
from rejudge.models.session import Session, SessionView
from rejudge.otel.run import assemble_run
from rejudge.otel.span import Batch
from rejudge.replay.divergence import first_divergence, same_output, same_steps
from rejudge.replay.fork import fork_point
from rejudge.replay.inputs import replay_inputs
from rejudge.replay.journal import read_journal
from rejudge.replay.outcome import Told, ending, fidelity_of, told_by
from rejudge.replay.processes import read_outputs, run_command, run_function_agent
from rejudge.replay.recorded import build_tape
from rejudge.replay.tape import Tape

SOURCE: Final = "rejudge"
"""Source of a result session; its external id is the replay's."""


def replay_session(
    baseline: SessionView,
    spec: AgentSpec,
    *,
    agent: str = "",
    policies: PolicySet | None = None,
    override: Override | None = None,
    fork: str | None = None,
    trial: int = 0,
    wider: Mapping[Scope, Iterable[SessionView]] | None = None,
    replay_id: str | None = None,
    environment: Mapping[str, str] | None = None,
    canceled: Callable[[], bool] = lambda: False,
) -> ReplayResult:
    """Run an agent again on a session's inputs, the recording answering for the world.

    Args:
        spec: How to run the agent (see `rejudge.replay.agent_spec`).
        agent: Its name.
        policies: What calls get; by default tools are answered from the baseline, and models are live.
        override: What the fork changes.
        fork: The node from which it does (``--from``; see `rejudge.replay.fork.fork_point`).
        wider: Sessions of the wider scopes that the policies read.
        replay_id: External id of the result session; a new one by default.
        environment: Variables on top of this process's own and of the spec's.
        canceled: Asked several times a second while the agent runs; True ends it.

    Raises:
        ReplayError: The session's inputs are not known, or no process could be started.
        NotFound: The fork point is not there.

    An agent that fails, crashes or hangs raises nothing: it is the result.
    """
    policies = policies or PolicySet()
    plan = ReplayPlan(
        replay_id=replay_id or str(uuid_utils.uuid7()),
        baseline_session_id=baseline.session.id,
        agent=agent or baseline.session.agent,
        spec=spec,
        inputs=replay_inputs(baseline),
        trial=trial,
        policies=policies,
        override=override or Override(),
        fork=fork_point(baseline, fork) if fork is not None else None,
        limits=spec.limits,
    )
    missing = [scope for scope in policies.scopes if scope != "baseline" and scope not in (wider or {})]
    if missing:
        raise ReplayError(f"a policy reads the scope {missing[0]!r}, and its sessions are not given")
    tape = build_tape(baseline, wider=wider)
    return run_plan(plan, tape, baseline=baseline, environment=environment, canceled=canceled)


def run_plan(
    plan: ReplayPlan,
    tape: Tape,
    *,
    baseline: SessionView | None = None,
    environment: Mapping[str, str] | None = None,
    canceled: Callable[[], bool] = lambda: False,
) -> ReplayResult:
    """Run a plan in a folder of its own, which is removed afterwards, and compare the result with the baseline."""
    folder = Path(tempfile.mkdtemp(prefix="rejudge-replay-"))
    run = run_command if plan.spec.kind == "command" else run_function_agent
    try:
        report, spans = run(plan, tape, folder, environment=environment or {}, canceled=canceled)
        told = told_by(read_journal(folder / "journal.jsonl"))
        written = read_outputs(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return _result(plan, told, report or {}, spans, written, baseline)


def _result(
    plan: ReplayPlan,
    told: Told,
    report: dict[str, Any],
    spans: Batch,
    written: JsonValue,
    baseline: SessionView | None,
) -> ReplayResult:
    status, reason = ending(plan, told, report)
    known: dict[str, Any] = {
        "status": status,
        "error": reason,
        "inputs": plan.inputs,
        "agent": plan.agent,
        "origin": "replay",
        "parent_session_id": plan.baseline_session_id or None,
    }
    outputs = told.outputs if told.returned else written
    if told.returned or written is not None or status != "completed":
        known["outputs"] = outputs
    recording = assemble_run(spans, source=SOURCE, external_id=plan.replay_id, known=known)
    if recording is None:
        recording = _empty(plan, known)
    fidelity, divergence = fidelity_of(told), None
    if baseline is not None:
        fidelity = _compared(fidelity, baseline, recording.view)
        divergence = first_divergence(baseline, recording.view)
    return ReplayResult(
        status=status,
        reason=reason,
        miss=told.miss,
        outputs=recording.view.session.outputs,
        fidelity=fidelity,
        divergence=divergence,
        applied=tuple(told.applied),
        output=report.get("output", ""),
        output_bytes=report.get("output_bytes", 0),
        exit_code=report.get("exit_code"),
        duration_seconds=report.get("duration_seconds", 0.0),
        cpu_seconds=report.get("cpu_seconds", 0.0),
        recording=recording,
    )


def _compared(fidelity: Fidelity, baseline: SessionView, replay: SessionView) -> Fidelity:
    return fidelity.model_copy(
        update={
            "tools_equal": same_steps(baseline, replay, "tool_call"),
            "requests_equal": same_steps(baseline, replay, "llm_call"),
            "output_equal": same_output(baseline.session, replay.session),
        }
    )


def _empty(plan: ReplayPlan, known: dict[str, Any]) -> Recording:
    """The session of a run that left no spans: it ran, and that is all there is to say."""
    session = Session(source=SOURCE, external_id=plan.replay_id, complete=False, **known)
    digest = digest_of({"replay": plan.replay_id, **known})
    return Recording(SessionView(session.model_copy(update={"digest": digest})))
