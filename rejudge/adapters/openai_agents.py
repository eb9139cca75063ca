"""See `rejudge.replay.adapters.openai_agents`."""

from rejudge.replay.adapters.openai_agents import CAPABILITIES, RecordedModel, RecordedProvider, replayable

__all__ = ["CAPABILITIES", "RecordedModel", "RecordedProvider", "replayable"]
