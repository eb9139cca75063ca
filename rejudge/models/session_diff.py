"""Two sessions laid side by side."""

from __future__ import annotations

from decimal import Decimal

from rejudge.models.canonical import JsonValue
from rejudge.models.replay import AlignedStep, Divergence, Value
from rejudge.models.session import Origin, Session, Status


class DiffSide(Value):
    """One of the two sessions."""

    id: str
    number: int
    agent: str
    agent_version: int | None = None
    origin: Origin
    status: Status
    error: str | None = None
    seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    """US dollars."""
    inputs: JsonValue = None
    outputs: JsonValue = None

    @classmethod
    def of(cls, session: Session) -> DiffSide:
        """The side that a session stands on."""
        began, ended = session.started_at, session.ended_at
        facts = {name: getattr(session, name) for name in cls.model_fields if name != "seconds"}
        seconds = (ended - began).total_seconds() if began is not None and ended is not None else None
        return cls.model_construct(**facts, seconds=seconds)  # trusted, and payloads may be large


class SessionDiff(Value):
    """Both sessions step by step, with where they part."""

    baseline: DiffSide
    replay: DiffSide
    steps: tuple[AlignedStep, ...] = ()
    divergence: Divergence | None = None
    """The first difference; None where there is none."""
    first: int | None = None
    """The row of `steps` that holds it; None where there is none, or only the outputs differ."""
    same_inputs: bool = True
    same_output: bool = True

    @property
    def counts(self) -> dict[str, int]:
        """Rows by state."""
        counted: dict[str, int] = {}
        for step in self.steps:
            counted[step.state] = counted.get(step.state, 0) + 1
        return counted
