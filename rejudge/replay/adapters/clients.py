"""HTTP clients that stand in front of an HTTP client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx2

from rejudge.replay.adapters.transport import AsyncTransport, Transport
from rejudge.replay.adapters.wire import Wire


def client_over(client: httpx2.Client, wires: Sequence[Wire], let_through: Sequence[str]) -> httpx2.Client:
    """A client that looks like the one below it, and sends through it what the tape does not answer."""
    return httpx2.Client(transport=Transport(client, wires, let_through), **_look(client))


def async_client_over(
    client: httpx2.AsyncClient, wires: Sequence[Wire], let_through: Sequence[str]
) -> httpx2.AsyncClient:
    """As `client_over`, for a client that is awaited."""
    return httpx2.AsyncClient(transport=AsyncTransport(client, wires, let_through), **_look(client))


def _look(client: httpx2.Client | httpx2.AsyncClient) -> dict[str, Any]:
    # Proxies, credentials, hooks and redirects are the lower client's, which sends.
    return {
        "base_url": client.base_url,
        "headers": client.headers,
        "params": client.params,
        "cookies": client.cookies,
        "timeout": client.timeout,
        "trust_env": False,
    }
