"""See `rejudge.replay.adapters.pydantic_ai`."""

from rejudge.replay.adapters.pydantic_ai import CAPABILITIES, RecordedModel, RecordedToolset, Replayable

__all__ = ["CAPABILITIES", "RecordedModel", "RecordedToolset", "Replayable"]
