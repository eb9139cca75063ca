"""pydantic-ai: a capability that puts an agent's models and tools on record, and answers them in a replay.

agent = Agent("openai:gpt-5", capabilities=[rejudge.adapters.pydantic_ai.Replayable()])
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, BatchModelRequests, CapabilityOrdering
from pydantic_ai.models import Model
from pydantic_ai.toolsets import AbstractToolset

from rejudge.errors import UsageError
from rejudge.replay.adapters.pydantic_ai_mcp import with_recorded_servers
from rejudge.replay.adapters.pydantic_ai_model import RecordedModel
from rejudge.replay.adapters.pydantic_ai_tools import RecordedToolset
from rejudge.replay.adapters.table import PYDANTIC_AI as CAPABILITIES

__all__ = ["CAPABILITIES", "RecordedModel", "RecordedToolset", "Replayable"]

_DURABLE: Final = "pydantic_ai.durable_exec"


@dataclass(init=False)
class Replayable(AbstractCapability[Any]):
    """An agent's model requests and tool calls on record, answered from the tape in a replay.

    It stands innermost: whatever else an agent has (hooks, limits, approvals, instrumentation) stays around it.

    Args:
        sub_agents: Tools that run another agent: they run in a replay too, and what is inside them is answered call
            by call. The other agent needs a capability of its own.
    """

    def __init__(self, *, sub_agents: Iterable[str] = ()) -> None:
        self.sub_agents = frozenset(sub_agents)

    def get_ordering(self) -> CapabilityOrdering:
        """Innermost."""
        return CapabilityOrdering(position="innermost")

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Refuse what would go past this capability, before anything runs.

        Raises:
            UsageError: For agents that send their requests in batches, or from durable units.
        """
        found: list[AbstractCapability[Any]] = []
        if ctx.root_capability is not None:
            ctx.root_capability.apply(found.append)
        for capability in found:
            kind = type(capability)
            if isinstance(capability, BatchModelRequests) or kind.__module__.startswith(_DURABLE):
                raise UsageError(
                    f"the pydantic_ai adapter does not intercept requests that {kind.__name__} sends",
                    mend="leave that capability out of the agent that is recorded and replayed",
                )

    def get_wrapper_model(self, model: Model) -> Model:
        """The model that serves a request, on record."""
        return RecordedModel(model)

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """The agent's tools, MCP servers' too, on record."""
        return RecordedToolset(with_recorded_servers(toolset), sub_agents=self.sub_agents)
