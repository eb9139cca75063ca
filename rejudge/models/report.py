"""What a report tells beside the comparison: what was changed, what it cost, how faithful the replays were."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Literal, TypeAlias

from pydantic import Field

from rejudge.models.comparison import Frozen

Priced: TypeAlias = Literal["priced", "partial", "unpriced"]
StepMark: TypeAlias = Literal["same", "different", "only here"]


class LedgerEntry(Frozen):
    """What one part of a run cost."""

    label: str
    """``agent, baseline``, ``agent, replay``, ``evaluator tone-judge@2``."""
    count: int
    """Sessions or scorings."""
    cost: Decimal | None = None
    """US dollars, as far as known."""
    priced: Priced = "unpriced"
    seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Fidelity(Frozen):
    """How the calls of all replays were answered, and how many replays equalled their baseline."""

    answers: dict[str, int] = Field(default_factory=dict)
    """Calls by what answered: ``history``, ``static``, ``live``, ``missed``…"""
    replays: int = 0
    same_tools: int = 0
    same_requests: int = 0
    same_output: int = 0


class Divergence(Frozen):
    """How often replays first left their baseline at one place."""

    label: str
    """``step 3, arguments of refund_payment``; ``none``."""
    count: int


class Step(Frozen):
    """One step of a run, as shown beside the other run's."""

    label: str
    text: str = ""
    mark: StepMark = "same"


class SideBySide(Frozen):
    """Both runs of one member, from the first divergence on."""

    member: str
    trial: int = 1
    skipped: int = 0
    """Equal steps before, not shown."""
    baseline: tuple[Step, ...] = ()
    replay: tuple[Step, ...] = ()


class ChangedText(Frozen):
    """A text that the replays were given instead of the agent's own."""

    label: str
    text: str


class ReportContext(Frozen):
    """Everything that is not a figure; all of it may be left out."""

    title: str = "Comparison"
    experiment: str | None = None
    run_id: str | None = None
    change: str | None = None
    """What was changed, in a line."""
    texts: tuple[ChangedText, ...] = ()
    """Of the change, whole: a reader judges the words, not that there were some."""
    agent: str | None = None
    cohort: str | None = None
    created_at: datetime | None = None
    version: str | None = None
    """Of rejudge."""
    ledger: tuple[LedgerEntry, ...] = ()
    fidelity: Fidelity | None = None
    divergences: tuple[Divergence, ...] = ()
    runs: tuple[SideBySide, ...] = ()
    """Of flipped members."""
