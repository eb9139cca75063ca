"""See `rejudge.replay.adapters.anthropic`."""

from rejudge.replay.adapters.anthropic import CAPABILITIES, async_http_client, http_client, replayable

__all__ = ["CAPABILITIES", "async_http_client", "http_client", "replayable"]
