"""One question to a model over the OpenAI chat protocol, with every way it can go wrong told apart."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import ssl
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from rejudge.errors import EvaluationError
from rejudge.evaluators.endpoint import SHARED_FOLDER, Endpoint
from rejudge.evaluators.money import as_amount
from rejudge.evaluators.pace import Pace
from rejudge.evaluators.prices import Tokens, listed_price
from rejudge.evaluators.reading import is_token_count
from rejudge.evaluators.rows import shown
from rejudge.evaluators.sensitive import redacted

if TYPE_CHECKING:
    import httpx

Message = Mapping[str, str]

_LARGEST_ANSWER: Final = 8 * 1024 * 1024
_LONGEST_WAIT: Final = 3600.0
_PATIENCE: Final = 60.0
"""Seconds that a call waits for its turn at most."""
_ALL_TOLD: Final = 290.0
"""Seconds for waiting and the call: a slow evaluator's limit is 300."""
_SHORT_WAIT: Final = 5.0
"""Seconds after which an endpoint may want to be asked again for the call to wait for it here."""
_TURNS: Final = 5
"""Times that one call of a batch is sent where the endpoint says that there are too many."""
_LATER: Final = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 507, 520, 522, 524, 529})
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = WeakKeyDictionary()
_paces: dict[tuple[str, str], Pace] = {}
_refused: dict[tuple[str, str], set[str]] = {}
# Options that some endpoint or model does not take, by the words its refusal names them with.
_OPTIONS: Final = {
    "response_format": ("response_format", "json_schema"),
    "temperature": ("temperature",),
    "max_completion_tokens": ("max_completion_tokens", "max_tokens"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said and what that took."""

    text: str
    model: str
    """The model that answered, as the endpoint says."""
    input_tokens: int | None
    output_tokens: int | None
    cost: Decimal | None
    """US dollars: as the endpoint says, else by the price list; None where neither knows."""


async def ask(
    endpoint: Endpoint,
    messages: Sequence[Message],
    *,
    schema: Mapping[str, Any] | None = None,
    timeout: float = 60,
    temperature: float | None = 0,
    max_tokens: int | None = None,
) -> Answer:
    """One answer of a model, by one call; once more where the endpoint refuses one of our options.

    Args:
        endpoint: Where, and which model.
        messages: ``role`` and ``content`` each.
        schema: JSON Schema that the answer is to keep; the caller checks that it does.
        timeout: Seconds that the call may take, beside the minute at most that it waits for its turn.
        temperature: None leaves it to the endpoint.
        max_tokens: Tokens of the answer at most.

    Raises:
        EvaluationError: Retryable where another attempt can help, with the endpoint's own ``Retry-After``.
    """
    body: dict[str, Any] = {"model": endpoint.model, "messages": [dict(message) for message in messages]}
    body |= _options(schema, temperature, max_tokens)
    refused = _refused.setdefault((endpoint.base_url, endpoint.model), set())
    while True:
        try:
            return _answer(endpoint, await _post(endpoint, _without(body, refused), timeout))
        except _OptionRefused as error:
            refused.add(error.option)


async def close() -> None:
    """Gives back the connections of the running event loop."""
    client = _clients.pop(asyncio.get_running_loop(), None)
    if client is not None:
        await client.aclose()


class _OptionRefused(EvaluationError):
    """The endpoint does not take an option of the request, which it can do without."""

    def __init__(self, option: str, detail: str) -> None:
        super().__init__(detail, retryable=False)
        self.option = option


def _options(schema: Mapping[str, Any] | None, temperature: float | None, max_tokens: int | None) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if temperature is not None:
        options["temperature"] = temperature
    if max_tokens is not None:
        options["max_completion_tokens"] = max_tokens
    if schema is not None:
        json_schema = {"name": "answers", "strict": True, "schema": schema}
        options["response_format"] = {"type": "json_schema", "json_schema": json_schema}
    return options


def _without(body: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in refused}


async def _post(endpoint: Endpoint, body: Mapping[str, Any], timeout: float) -> Mapping[str, Any]:

    pace, together = _pace_of(endpoint)
    deadline = time.monotonic() + min(max(timeout, _PATIENCE), max(_ALL_TOLD - timeout, _SHORT_WAIT))
    turns = _TURNS if together else 1
    while True:
        turns -= 1
        await _slot(pace, deadline=deadline)
        sent = pace.clock()
        response = await _sent(endpoint, body, timeout)
        if response.status_code == 200:
            pace.went_well()
            return _read(response)
        refusal = _refusal(endpoint, response, body)
        if response.status_code == 429 or refusal.retry_after is not None:
            pace.refused(refusal.retry_after, sent=sent)
        # In a batch, too many calls at once is no failure of this one: it takes another turn.
        again = response.status_code == 429 and refusal.retryable and (refusal.retry_after or 0) <= _SHORT_WAIT
        if not again or not turns or time.monotonic() + (refusal.retry_after or 0) > deadline:
            raise refusal


async def _sent(endpoint: Endpoint, body: Mapping[str, Any], timeout: float) -> httpx.Response:
    import httpx

    headers = {"authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
    try:
        async with asyncio.timeout(timeout):
            return await _client().post(
                f"{endpoint.base_url}/chat/completions", json=body, headers=headers, timeout=timeout
            )
    except (TimeoutError, httpx.TimeoutException) as error:
        raise EvaluationError(f"the model did not answer within {timeout:g} s") from error
    except httpx.TransportError as error:
        raise EvaluationError(f"the connection failed: {type(error).__name__} {_safe(error, endpoint)}") from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
        raise EvaluationError(f"the request cannot be sent: {_safe(error, endpoint)}", retryable=False) from error


def _read(response: httpx.Response) -> Mapping[str, Any]:
    if len(response.content) > _LARGEST_ANSWER:
        raise EvaluationError(f"the answer is {len(response.content)} bytes long, which no answer is")
    try:
        reply = json.loads(response.content)
    except ValueError as error:
        raise EvaluationError("the answer is no JSON") from error
    if not isinstance(reply, dict):
        raise EvaluationError("the answer is no chat completion")
    return reply


def _pace_of(endpoint: Endpoint) -> tuple[Pace, bool]:
    """The pace of an endpoint, and whether other processes of a batch keep it too."""
    key = (endpoint.base_url, endpoint.model)
    folder = os.environ.get(SHARED_FOLDER)
    if key not in _paces:
        digest = hashlib.sha256("\0".join(key).encode()).hexdigest()[:24]
        try:
            _paces[key] = Pace(file=Path(folder) / f"{digest}.pace" if folder else None)
        except OSError:  # the folder is gone, or the disk full
            _paces[key] = Pace()
    return _paces[key], bool(folder)


async def _slot(pace: Pace, *, deadline: float) -> None:
    """Waits for a turn, and again where the endpoint refused others in the meantime."""
    while True:
        left = deadline - time.monotonic()
        delay = pace.wait(at_most=left)
        if delay is None:
            wait = pace.barred() or max(left, 1.0)
            raise EvaluationError(
                f"the endpoint wants no calls for {wait:.1f} s, so it is not called", retry_after=wait
            )
        if delay:
            await asyncio.sleep(delay)
        if not pace.barred():
            return


def _client() -> httpx.AsyncClient:
    """One client for each event loop, so that connections are kept; environment proxies are honoured."""
    import httpx

    loop = asyncio.get_running_loop()
    client = _clients.get(loop)
    if client is None or client.is_closed:
        limits = httpx.Limits(max_connections=100, max_keepalive_connections=50)
        client = _clients[loop] = httpx.AsyncClient(verify=_certificates(), limits=limits, follow_redirects=False)
    return client


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()


def _refusal(endpoint: Endpoint, response: httpx.Response, body: Mapping[str, Any]) -> EvaluationError:
    code, detail = response.status_code, _safe(_detail(response), endpoint)
    if code in (400, 422):
        for option, words in _OPTIONS.items():
            if option in body and any(word in detail for word in words):
                return _OptionRefused(option, detail)
    if code == 429 and "insufficient_quota" in response.text[:2000]:
        return EvaluationError(f"the account has no quota left (429): {detail}", retryable=False)
    if code in _LATER or code >= 500:
        wait = retry_after(response.headers)
        asked = "" if wait is None else f", to be asked again in {wait:g} s"
        return EvaluationError(f"the endpoint answers {code}{asked}: {detail}", retry_after=wait)
    if code in (401, 403):
        return EvaluationError(f"the endpoint refuses the credentials ({code}): {detail}", retryable=False)
    return EvaluationError(f"the endpoint refuses the request ({code}): {detail}", retryable=False)


def _detail(response: httpx.Response) -> str:
    try:
        error = json.loads(response.content).get("error")
    except (ValueError, AttributeError):
        return response.text[:500]
    return str(error.get("message")) if isinstance(error, dict) else str(error)


def _safe(text: object, endpoint: Endpoint) -> str:
    """What came from outside, as it may stand on a row: short, and without the key."""
    plain = str(text)
    if endpoint.api_key:
        plain = plain.replace(endpoint.api_key, "[redacted]")
    return shown(redacted(plain[:2000]), 300)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a ``Retry-After`` (seconds or a date) or ``retry-after-ms`` header asks to wait."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if not text:
            continue
        try:
            seconds = float(text) * scale
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), _LONGEST_WAIT)
    return None


def _answer(endpoint: Endpoint, reply: Mapping[str, Any]) -> Answer:
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict):
        raise EvaluationError("the answer is no chat completion: it has no message")
    if message.get("refusal"):
        raise EvaluationError(f"the model refuses to judge: {_safe(message['refusal'], endpoint)}", retryable=False)
    if choice.get("finish_reason") == "content_filter":
        raise EvaluationError("the endpoint's content filter stopped the answer", retryable=False)
    text = _text(message.get("content"))
    if choice.get("finish_reason") == "length":
        raise EvaluationError("the answer was cut off at the endpoint's limit of tokens")
    if not text:
        raise EvaluationError("the answer is empty")
    model = reply.get("model") if isinstance(reply.get("model"), str) and reply.get("model") else endpoint.model
    usage = reply.get("usage") if isinstance(reply.get("usage"), dict) else {}
    return _counted(endpoint, text, str(model), usage or {})


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return ""


def _counted(endpoint: Endpoint, text: str, model: str, usage: Mapping[str, Any]) -> Answer:
    sent, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else 0
    cost = as_amount(usage.get("cost"))
    known = is_token_count(sent) and is_token_count(answered)
    if cost is None and known:
        tokens = Tokens(int(sent or 0), int(answered or 0), int(cached or 0) if is_token_count(cached) else 0)
        cost = listed_price(model, tokens) or listed_price(endpoint.model, tokens)
    return Answer(
        text=text,
        model=shown(model, 200),
        input_tokens=sent if is_token_count(sent) else None,
        output_tokens=answered if is_token_count(answered) else None,
        cost=cost,
    )
