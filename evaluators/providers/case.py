"""What a provider is asked, and what it says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

CallMode: TypeAlias = Literal["score", "llm"]
Mode: TypeAlias = Literal["score", "llm", "fallback"]


class Case(BaseModel):
    """One answer to be scored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    actual: str
    """The answer that was given."""
    expected: str = ""
    """The answer that was expected."""
    user_input: str | None = None
    """What the answer answers."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """From which score on it passes; None: the provider's own."""
    context: tuple[str, ...] = ()
    """Texts that the answer should rest on."""
    criteria: str | None = None
    """What a judge is to look at; None: whether the answer says what was expected."""


class CaseResult(BaseModel):
    """What a provider made of a case."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    metric: str
    """What was measured: ``similarity``, ``geval``…"""
    provider: str
    score: float | None = None
    """0 to 1; None = not scored."""
    threshold: float | None = None
    passed: bool | None = None
    mode: CallMode = "score"
    expected: str = ""
    """The alternative this is about."""
    reason: str | None = None
    cost: Decimal | None = None
    """US dollars that the call itself cost."""
    attempts: tuple[CaseResult, ...] = ()
    """Every call made before this one, in order."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """``model`` and tokens of a judge; ``alternative``, the index of the expected answer."""

    @property
    def total_cost(self) -> Decimal | None:
        """US dollars of this call and of all before it, as far as they are known; None where none is."""
        known = [each.cost for each in (*self.attempts, self) if each.cost is not None]
        return sum(known, start=Decimal(0)) if known else None

    def total(self, counter: str) -> int | None:
        """A token count summed over this call and all before it; None where none says."""
        known = [each.metadata.get(counter) for each in (*self.attempts, self)]
        counts = [count for count in known if isinstance(count, int)]
        return sum(counts) if counts else None
