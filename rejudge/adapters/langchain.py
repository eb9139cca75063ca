"""See `rejudge.replay.adapters.langchain`."""

from rejudge.replay.adapters.langchain import CAPABILITIES, replayable

__all__ = ["CAPABILITIES", "replayable"]
