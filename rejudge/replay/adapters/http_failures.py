"""Failed requests of model clients: on record as the client will tell them, and made again of what was recorded."""

from __future__ import annotations

import ast
import re
from typing import Any, Final

import httpx2
import orjson

from rejudge.models.canonical import JsonValue
from rejudge.replay.adapters.wire import Wire
from rejudge.replay.answers import ModelAnswer
from rejudge.replay.calls import ModelCall
from rejudge.replay.failures import recorded_failure
from rejudge.replay.request import ModelResponse

_NAMES: Final = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    413: "RequestTooLargeError",
    422: "UnprocessableEntityError",
    429: "RateLimitError",
    500: "InternalServerError",
}
"""What the clients of OpenAI and Anthropic call a status; from 500 on they call all of them the same."""

_KEPT: Final = ("content-type", "x-should-retry", "x-request-id", "request-id")
_TOLD: Final = re.compile(r"Error code: (\d{3})(?: - (.*))?", re.DOTALL)


class HttpFailure(Exception):
    """A model's API answered with an error."""


def say_failed(call: ModelCall, response: httpx2.Response, wire: Wire) -> None:
    """Put an error answer on record."""
    try:
        body: JsonValue = orjson.loads(response.content)
    except ValueError:
        body = response.text
    status = response.status_code
    headers = {name: response.headers[name] for name in _KEPT if name in response.headers}
    call.returned(ModelResponse(messages=(), raw={"http_status": status, "headers": headers, "body": body}))
    call.fail(HttpFailure(f"Error code: {status} - {body}"))
    name = _NAMES.get(min(status, 500))
    call.span.set_attribute("error.type", f"{wire.library}.{name}" if name else str(status))


def failure_response(call: ModelCall, answer: ModelAnswer) -> httpx2.Response:
    """The recorded error answer; a failure that was none is raised again."""
    raw = answer.response.raw
    if isinstance(raw, dict) and isinstance(raw.get("http_status"), int):
        # The client retries as it did, and need not wait for it.
        headers = {**(raw.get("headers") or {}), "retry-after-ms": "1"}
        return _said(call, answer, raw["http_status"], raw.get("body"), headers)
    told = _TOLD.search(answer.error or "")
    status = int(told[1]) if told else _status_of(answer.error_type)
    if status is None:
        raise _network_failure(answer) or recorded_failure(answer.error_type, answer.error or "")
    # One recorded failure stands for all attempts that the client made.
    body = _body_of(told[2] or "") if told else {"error": {"message": answer.error, "type": answer.error_type}}
    return _said(call, answer, status, body, {"x-should-retry": "false"})


def _said(
    call: ModelCall, answer: ModelAnswer, status: int, body: JsonValue, headers: dict[str, str]
) -> httpx2.Response:
    content = body.encode() if isinstance(body, str) else orjson.dumps(body)
    response = httpx2.Response(status, headers={"content-type": "application/json", **headers}, content=content)
    call.returned(answer.response)
    call.fail(HttpFailure(answer.error or ""))
    if answer.error_type:
        call.span.set_attribute("error.type", answer.error_type)
    return response


def _status_of(error_type: str | None) -> int | None:
    """The status behind a recorded error type: a client's exception, or the status itself."""
    name = (error_type or "").rpartition(".")[2]
    if name.isdecimal() and 400 <= int(name) <= 599:
        return int(name)
    return next((status for status, known in _NAMES.items() if known == name), None)


def _body_of(text: str) -> Any:
    try:
        return orjson.loads(text)
    except ValueError:
        pass
    try:
        return ast.literal_eval(text)  # the clients write the body as Python does
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {"error": {"message": text}}


def _network_failure(answer: ModelAnswer) -> Exception | None:
    name = (answer.error_type or "").rpartition(".")[2]
    if name == "APITimeoutError":
        return httpx2.ReadTimeout(answer.error or "")
    return httpx2.ConnectError(answer.error or "") if name == "APIConnectionError" else None
