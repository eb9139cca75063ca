"""The clients of Anthropic: every message on record, and answered from the tape in a replay.

client = rejudge.adapters.anthropic.replayable(Anthropic())
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import httpx2
from anthropic import Anthropic, AsyncAnthropic

from rejudge.errors import UsageError
from rejudge.replay.adapters.anthropic_messages import AnthropicMessages
from rejudge.replay.adapters.clients import async_client_over, client_over
from rejudge.replay.adapters.table import ANTHROPIC as CAPABILITIES
from rejudge.replay.adapters.wire import Wire

__all__ = ["CAPABILITIES", "async_http_client", "http_client", "replayable"]

_WIRES: Final[tuple[Wire, ...]] = (AnthropicMessages(),)

Client = TypeVar("Client", bound=Anthropic | AsyncAnthropic)


def replayable(client: Client, *, let_through: Sequence[str] = ()) -> Client:
    """The same client, its requests on record and answered from the tape in a replay.

    Args:
        client: With an HTTP client of its own or not.
        let_through: Ends of paths (``/count_tokens``) that are sent in a replay too, and never recorded. Told
            nothing, a replay ends where the client would ask for anything but a message.

    Raises:
        UsageError: For the clients of other platforms (Bedrock, Vertex), which speak another protocol.
    """
    inner = client._client
    if isinstance(client, Anthropic) and isinstance(inner, httpx2.Client):
        return client.copy(http_client=http_client(inner, let_through=let_through))
    if isinstance(client, AsyncAnthropic) and isinstance(inner, httpx2.AsyncClient):
        return client.copy(http_client=async_http_client(inner, let_through=let_through))
    raise UsageError(
        f"the anthropic adapter cannot stand in front of {type(client).__module__}.{type(client).__qualname__}",
        mend="give it an Anthropic or AsyncAnthropic client",
    )


def http_client(client: httpx2.Client | None = None, *, let_through: Sequence[str] = ()) -> httpx2.Client:
    """An HTTP client for ``Anthropic(http_client=…)``, and for what takes one and makes the client itself.

    Args:
        client: Sends what is to be sent; by default one as the library makes it.
    """
    from anthropic import DefaultHttpxClient

    return client_over(client if client is not None else DefaultHttpxClient(), _WIRES, let_through)


def async_http_client(
    client: httpx2.AsyncClient | None = None, *, let_through: Sequence[str] = ()
) -> httpx2.AsyncClient:
    """As `http_client`, for ``AsyncAnthropic``."""
    from anthropic import DefaultAsyncHttpxClient

    return async_client_over(client if client is not None else DefaultAsyncHttpxClient(), _WIRES, let_through)
