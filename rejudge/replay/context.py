"""What an agent's function is given beside its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rejudge.models.canonical import JsonValue
from rejudge.models.override import Override
from rejudge.replay.answers import Replaying
from rejudge.replay.overrides import merged_parameters


@dataclass(frozen=True, slots=True)
class AgentContext:
    """The run's own facts, and the override for agents whose model calls no adapter sees.

    Asking for something marks the override as applied: an agent asks for what it uses, with what it would use
    otherwise as the default. Before a fork point the defaults come back.
    """

    replaying: Replaying
    override: Override
    baseline_session_id: str
    replay_id: str
    trial: int = 0

    def model(self, default: str) -> str:
        """The model to ask."""
        part = f"model:{default}" if isinstance(self.override.model, dict) else "model"
        return (self.override.model_for(default) or default) if self.replaying.take_override(part) else default

    def system_prompt(self, default: str) -> str:
        """The system prompt to use."""
        changed = self.override.system_prompt
        return changed if changed is not None and self.replaying.take_override("system_prompt") else default

    def prompt(self, default: str) -> str:
        """The prompt to use."""
        changed = self.override.prompt
        return changed if changed is not None and self.replaying.take_override("prompt") else default

    def model_params(self, defaults: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """The model parameters to use: the defaults with the override merged in."""
        changes = self.override.model_params
        if changes is None or not self.replaying.take_override("model_params"):
            return dict(defaults)
        return merged_parameters(defaults, changes)
