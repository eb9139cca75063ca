"""Our own model client, lent to a library that judges: failures stay told apart, and what is spent is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from rejudge.evaluators.chat import Answer, ask
from rejudge.evaluators.endpoint import Endpoint, endpoint_from, is_configured


@dataclass(slots=True)
class Spent:
    """What one evaluation's calls took together."""

    answers: list[Answer] = field(default_factory=list)

    @property
    def cost(self) -> Decimal | None:
        """US dollars, as far as they are known; None where none is."""
        known = [answer.cost for answer in self.answers if answer.cost is not None]
        return sum(known, start=Decimal(0)) if known else None

    def metadata(self) -> dict[str, Any]:
        """Model and tokens, as they stand on results."""
        sent = [answer.input_tokens for answer in self.answers if answer.input_tokens is not None]
        answered = [answer.output_tokens for answer in self.answers if answer.output_tokens is not None]
        return {
            "model": self.answers[-1].model if self.answers else None,
            "input_tokens": sum(sent) if sent else None,
            "output_tokens": sum(answered) if answered else None,
            "calls": len(self.answers),
        }


@dataclass(frozen=True, slots=True)
class Lent:
    """The client for one evaluation."""

    endpoint: Endpoint
    timeout: float
    spent: Spent = field(default_factory=Spent)

    async def ask(self, messages: Sequence[Mapping[str, str]]) -> str:
        """One answer, counted."""
        answer = await ask(self.endpoint, messages, timeout=self.timeout)
        self.spent.answers.append(answer)
        return answer.text


@dataclass(frozen=True, slots=True)
class Lender:
    """Gives each evaluation a client of its own, where there is a connection to a judging model."""

    model: str | None
    timeout: float

    def lend(self) -> Lent | None:
        """A client; None where no connection is there and the library is to use its own configuration."""
        return Lent(endpoint_from(model=self.model), self.timeout) if is_configured() else None
