"""The clients of OpenAI: every request on record, and answered from the tape in a replay.

client = rejudge.adapters.openai.replayable(OpenAI())
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

import httpx2
from openai import AsyncOpenAI, OpenAI

from rejudge.errors import UsageError
from rejudge.replay.active import current_replay
from rejudge.replay.adapters.chat_completions import ChatCompletions
from rejudge.replay.adapters.clients import async_client_over, client_over
from rejudge.replay.adapters.responses import Responses
from rejudge.replay.adapters.table import OPENAI as CAPABILITIES
from rejudge.replay.adapters.wire import Wire

__all__ = ["CAPABILITIES", "async_http_client", "http_client", "replayable"]

_WIRES: Final[tuple[Wire, ...]] = (ChatCompletions(), Responses())
_NOWHERE: Final = "wss://not-intercepted.invalid"

Client = TypeVar("Client", bound=OpenAI | AsyncOpenAI)


def replayable(client: Client, *, let_through: Sequence[str] = ()) -> Client:
    """The same client, its requests on record and answered from the tape in a replay.

    Args:
        client: Of OpenAI, of Azure, or of any server that speaks the protocol; with an HTTP client of its own or not.
        let_through: Ends of paths (``/embeddings``) that are sent in a replay too, and never recorded. Told
            nothing, a replay ends where the client would ask for anything but an answer of a model.

    Raises:
        UsageError: For a client whose HTTP client cannot be stood in front of.
    """
    inner = client._client
    if isinstance(client, OpenAI) and isinstance(inner, httpx2.Client):
        copied = client.copy(
            http_client=http_client(inner, let_through=let_through), websocket_base_url=_websockets()
        )
        return copied
    if isinstance(client, AsyncOpenAI) and isinstance(inner, httpx2.AsyncClient):
        awaited = client.copy(
            http_client=async_http_client(inner, let_through=let_through), websocket_base_url=_websockets()
        )
        return awaited
    raise UsageError(
        f"the openai adapter cannot stand in front of {type(inner).__module__}.{type(inner).__qualname__}",
        mend="give the client an HTTP client of httpx2",
    )


def http_client(client: httpx2.Client | None = None, *, let_through: Sequence[str] = ()) -> httpx2.Client:
    """An HTTP client for ``OpenAI(http_client=…)``, and for what takes one and makes the client itself.

    Args:
        client: Sends what is to be sent; by default one as the library makes it.
    """
    from openai import DefaultHttpx2Client

    return client_over(client if client is not None else DefaultHttpx2Client(), _WIRES, let_through)


def async_http_client(
    client: httpx2.AsyncClient | None = None, *, let_through: Sequence[str] = ()
) -> httpx2.AsyncClient:
    """As `http_client`, for ``AsyncOpenAI``."""
    from openai import DefaultAsyncHttpx2Client

    return async_client_over(client if client is not None else DefaultAsyncHttpx2Client(), _WIRES, let_through)


def _websockets() -> str | None:
    """Where websockets go; None: where they went. In a replay nothing is sent past the transport."""
    return None if current_replay() is None else _NOWHERE
