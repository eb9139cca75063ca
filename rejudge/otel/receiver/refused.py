"""Why a request was not taken: an HTTP status and a sentence, answered as the protocol wants it."""

from __future__ import annotations

from collections.abc import Mapping


class Refused(Exception):
    """Ends one request.

    Args:
        status: The HTTP status; 429, 502, 503 and 504 ask the exporter to send the same again.
        message: For the person who reads the exporter's log.
        retry_after: Seconds after which to send it again.
        headers: Further headers of the answer.
    """

    def __init__(
        self, status: int, message: str, *, retry_after: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)
