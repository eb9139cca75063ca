"""What Prefect's client raises where its server does not answer, as an error of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rejudge.errors import ServerUnreachable, UsageError


@contextmanager
def reaching(api_url: str | None) -> Iterator[None]:
    """Calls of the server at `api_url` (None: the temporary one) that fail, said in a line with its mend.

    Raises:
        UsageError: Where the address is none.
        ServerUnreachable: Where nothing answers there, or what answers refuses.
    """
    import httpx

    where = f"the Prefect server at {_without_password(api_url)}" if api_url else "Prefect's temporary server"
    try:
        yield
    except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
        raise UsageError(
            f"PREFECT_API_URL is {api_url!r}, which is no address",
            mend="set it to one such as http://127.0.0.1:4200/api, or unset it for a local server",
        ) from error
    except httpx.HTTPStatusError as error:
        answer = f"{error.response.status_code} {error.response.reason_phrase}"
        raise ServerUnreachable(
            f"{where} answers {answer} to {error.request.method} {error.request.url.path}",
            mend="check that PREFECT_API_URL is Prefect's, and PREFECT_API_KEY or PREFECT_API_AUTH_STRING",
        ) from error
    except httpx.TransportError as error:
        raise ServerUnreachable(
            f"{where} does not answer: {error or type(error).__name__}",
            mend="see that it is up, or unset PREFECT_API_URL for a local server; --ephemeral needs none",
        ) from error


def _without_password(url: str) -> str:
    scheme, found, rest = url.partition("://")
    return f"{scheme}{found}{rest.rpartition('@')[2]}"
