"""See `rejudge.replay.adapters.openai`."""

from rejudge.replay.adapters.openai import CAPABILITIES, async_http_client, http_client, replayable

__all__ = ["CAPABILITIES", "async_http_client", "http_client", "replayable"]
