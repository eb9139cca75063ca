"""A replay as values: what is asked, what the agent's process is given, what came of it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from rejudge.models.agent import AgentSpec, Limits
from rejudge.models.canonical import JsonValue, digest_of
from rejudge.models.override import Override
from rejudge.models.policy import PolicySet
from rejudge.models.recording import Recording

ReplayStatus: TypeAlias = Literal["completed", "failed", "timed_out", "crashed", "canceled"]
DivergenceKind: TypeAlias = Literal["arguments", "extra", "missing", "order", "result", "output", "model_text"]
CallKind: TypeAlias = Literal["tool", "model"]
AnswerSource: TypeAlias = Literal["history", "static", "llm", "live"]


class Value(BaseModel):
    """Frozen, and closed to fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ForkPoint(Value):
    """The node of the baseline from which a fork runs under its own policies and overrides."""

    node_id: str
    index: int
    """Its position in the baseline: everything before it is answered from the tape."""
    written: str = ""
    """As it was asked for: an id, a position, or ``tool:NAME#K``."""


class ReplayPlan(Value):
    """Everything that the agent's process is given, but for its environment. Kept as ``plan.json``."""

    replay_id: str
    baseline_session_id: str
    agent: str = ""
    spec: AgentSpec
    inputs: JsonValue = None
    trial: int = 0
    policies: PolicySet = PolicySet()
    override: Override = Override()
    fork: ForkPoint | None = None
    limits: Limits = Limits()
    tape: str = "tape.json"
    """File of the recorded calls, relative to the plan's folder."""


class ArgumentDifference(Value):
    """One place where two calls' arguments differ."""

    path: str
    """JSON pointer."""
    recorded: JsonValue = None
    called: JsonValue = None
    kind: Literal["changed", "added", "removed"] = "changed"


class CallMiss(Value):
    """A call that nothing answered."""

    call: CallKind = "tool"
    name: str
    """Tool name, or the requested model."""
    arguments: JsonValue = None
    """What it was called with; for a model call its last message."""
    reason: str
    """One sentence: why nothing answered."""
    nearest_node_id: str | None = None
    """The recorded call of that name that comes nearest; None where there is none."""
    differences: tuple[ArgumentDifference, ...] = ()
    """Between the nearest recorded call and this one."""


class DivergenceSide(Value):
    """One side of a divergence: a step, as far as it has one."""

    node_id: str | None = None
    index: int | None = None
    node_type: str | None = None
    name: str | None = None
    value: JsonValue = None
    """The arguments, result, text or output that differs."""


class Divergence(Value):
    """The first step at which a replay differs from its baseline, and how."""

    kind: DivergenceKind
    step: int
    """How many calls were the same before it."""
    baseline: DivergenceSide | None = None
    """None where the baseline has no such step."""
    replay: DivergenceSide | None = None
    message: str
    """One line for a person."""


class AlignedStep(Value):
    """One row of two sessions laid side by side."""

    state: Literal["same", "changed", "result", "missing", "extra"]
    """``changed``: called with something else; ``result``: the same call returned something else; ``missing`` and
    ``extra``: only the baseline, or only the replay, made it."""
    baseline: DivergenceSide | None = None
    """``value`` holds ``arguments`` and ``result``."""
    replay: DivergenceSide | None = None
    answered: bool = False
    """True where the tape or a policy answered the replay's call."""
    differences: tuple[ArgumentDifference, ...] = ()
    """Between the two calls, where they were called with something else."""


class Fidelity(Value):
    """How much of a replay was answered from where, and whether it equals its baseline."""

    history: int = 0
    static: int = 0
    llm: int = 0
    live: int = 0
    model_history: int = 0
    model_live: int = 0
    misses: int = 0
    tools_equal: bool = False
    """The same tools with the same arguments, in the same order."""
    requests_equal: bool = False
    """The same model requests, in the same order."""
    output_equal: bool = False

    @property
    def ratio(self) -> float | None:
        """Share of the calls, tools' and models', that the tape answered; None where there was no call."""
        answered = self.history + self.model_history
        calls = answered + self.static + self.llm + self.live + self.model_live + self.misses
        return answered / calls if calls else None


class ReplayResult(Value):
    """How a replay ended, and what it made."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=(), arbitrary_types_allowed=True)

    status: ReplayStatus
    reason: str | None = None
    """One sentence; None where it completed."""
    miss: CallMiss | None = None
    """The call that ended it, where one did."""
    outputs: JsonValue = None
    fidelity: Fidelity = Fidelity()
    divergence: Divergence | None = None
    applied: tuple[str, ...] = ()
    """Parts of the override that reached a call (see `Override.parts`)."""
    output: str = ""
    """What the agent printed, bounded: its start and its end."""
    output_bytes: int = 0
    """How much it printed."""
    exit_code: int | None = None
    """Negative: the signal that ended it."""
    duration_seconds: float = 0.0
    cpu_seconds: float = 0.0
    recording: Recording | None = None
    """The result session, with what was recorded up to the end; None where nothing was."""

    def facts(self) -> dict[str, Any]:
        """The JSON-ready facts without the recording: what is stored with the replay."""
        facts: dict[str, Any] = self.model_dump(mode="json", exclude={"recording", "outputs"})
        facts["fidelity"]["ratio"] = self.fidelity.ratio
        return facts


def replay_identity(
    *,
    baseline_digest: str,
    agent_digest: str,
    policies: PolicySet,
    override: Override,
    fork: ForkPoint | None,
    trial: int,
) -> str:
    """Hex digest under which the same replay asked for twice is one."""
    return digest_of(
        {
            "baseline": baseline_digest,
            "agent": agent_digest,
            "policies": policies.model_dump(mode="json"),
            "override": override.model_dump(mode="json"),
            "fork": fork.node_id if fork is not None else None,
            "trial": trial,
        }
    )
