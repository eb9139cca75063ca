"""Where a session comes from, and what was made of it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from rejudge.models.replay import Value


class LineageReplay(Value):
    """The replay that led from a session to the one below it."""

    id: str
    number: int
    status: str
    error: str | None = None
    trial: int = 0
    agent_version: int
    override: dict[str, Any] = Field(default_factory=dict)
    """What was changed; empty: nothing."""
    fork_point: str | None = None
    """The node of the session above, as its place and what it called: ``7 tool refund_payment``."""
    fork_node_id: str | None = None
    experiment_run_id: str | None = None


class Lineage(Value):
    """A session with everything that was made of it, or a replay of which no session came."""

    id: str | None = None
    """None: no session came of it."""
    number: int | None = None
    agent: str
    agent_version: int | None = None
    origin: str = "replay"
    status: str
    replay: LineageReplay | None = None
    """How it came about; None for a session that is no replay."""
    children: tuple[Lineage, ...] = ()

    def walk(self) -> list[Lineage]:
        """It and everything below it, parents first."""
        return [self, *(found for child in self.children for found in child.walk())]
