"""What each flow is asked for: the parameters of a deployment, and the form that its page shows.

Ids and filters, never sessions: a flow run's parameters may take 512 KiB.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from rejudge.models.gate import Gate
from rejudge.models.override import Override
from rejudge.models.policy import PolicySet
from rejudge.models.selection import Selection

Mode: TypeAlias = Literal["missing", "force", "changed"]
"""Score what is not scored yet; score again; score what is missing or was re-opened by a late span."""

IDS_LIMIT: Final = 5_000
"""Session ids that fit a flow run's parameters with room to spare."""


class Request(BaseModel):
    """A flow's one parameter: frozen, and closed to fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class EvaluatorChoice(Request):
    """One evaluator version with its params."""

    evaluator: str
    """``name@3``, ``name@latest``, or a bare name, which means the latest."""
    params: dict[str, Any] = {}
    connection: str | None = None
    """Name of the credentials that this evaluator's process is given."""


class ImportRequest(Request):
    """Traces to import as sessions."""

    paths: tuple[str, ...] = Field(min_length=1)
    """Files, folders or globs, as the machine that runs the flow sees them."""
    agent: str
    tags: tuple[str, ...] = ()


class EvaluationRequest(Request):
    """Sessions to judge, and by what."""

    selection: Selection
    evaluators: tuple[EvaluatorChoice, ...] = Field(min_length=1)
    mode: Mode = "missing"


class ReplayRequest(Request):
    """One session to replay, the change if it is a fork, and what judges the result."""

    session: str
    """Number, id, or the beginning of one."""
    agent: str | None = None
    """``name@version``; None: the latest version of the session's own agent."""
    override: Override = Override()
    policies: PolicySet = PolicySet()
    fork_point: str | None = None
    """Node id, position, or ``tool:NAME#K``: all before it is answered from the tape."""
    evaluators: tuple[EvaluatorChoice, ...] = ()
    trial: int = Field(default=0, ge=0)
    again: bool = False
    """Replay although the same replay exists."""


class ExperimentRequest(Request):
    """An experiment to run over a cohort version with an agent version."""

    experiment: str
    cohort: str
    """``name@version`` or ``name@latest``."""
    agent: str | None = None
    """``name@version``; None: the latest version of the cohort's agent."""
    trials: int = Field(default=1, ge=1)
    """Replays of each session."""
    margin: float = Field(default=0.0, ge=0)
    """Differences up to this do not matter."""
    alpha: float = Field(default=0.05, gt=0, lt=1)
    """Chance of a false alarm."""
    seed: int = 0
    """Of the bootstrap."""
    gate: Gate | None = None
    """The rules that the run's final state is decided by."""


class NightlyRequest(Request):
    """What a night's evaluation judges: whatever of these sessions is not scored yet, or was re-opened."""

    agents: tuple[str, ...] = ()
    """Agents whose sessions are judged; none: all of them."""
    evaluators: tuple[EvaluatorChoice, ...] = Field(min_length=1)


class LabelRequest(Request):
    """Sessions to put before a person, one after the other, in the run's form."""

    selection: Selection
    name: str
    """The label's name: once a session."""
    question: str = ""
    """What the person is asked."""
    author: str | None = None
