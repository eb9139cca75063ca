"""The HTTP transport of a model's client: each request on record, answered from the tape in a replay.

A transport stands where the client's own HTTP client stands, and sends through it. What comes back from the tape is
an HTTP response like any other: the client parses it, streams it, and retries recorded errors as it did.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Final, Self

import httpx2
import orjson

from rejudge.replay.active import current_replay
from rejudge.replay.adapters.http_failures import failure_response, say_failed
from rejudge.replay.adapters.wire import (
    Body,
    Wire,
    answer_body,
    answer_chunks,
    encoded,
    recorded_chunks,
    streamed_response,
)
from rejudge.replay.answers import ModelAnswer
from rejudge.replay.calls import ModelCall
from rejudge.replay.failures import recorded_failure

_DROPPED: Final = frozenset({"content-length", "content-encoding", "transfer-encoding"})


class _Asked:
    """One request that is on record: what it asks, and the open call."""

    def __init__(self, wire: Wire, request: httpx2.Request, body: Body) -> None:
        self.wire, self._request, self.body = wire, request, body
        self._before = wire.request_of(body)
        self.call = ModelCall(self._before, current=False)
        self.streams = bool(body.get("stream"))

    def to_send(self) -> httpx2.Request:
        """The request with what a fork changed; the very same one where it changed nothing."""
        after = self.call.request
        if after == self._before:
            return self._request
        body = self.wire.edited(self.body, self._before, after)
        url = str(self._request.url).replace(f"/deployments/{self._before.model}/", f"/deployments/{after.model}/")
        headers = [pair for pair in self._request.headers.multi_items() if pair[0].lower() not in _DROPPED]
        content, extensions = encoded(body).encode(), self._request.extensions
        return httpx2.Request(self._request.method, url, headers=headers, content=content, extensions=extensions)

    def recorded(self, answer: ModelAnswer) -> httpx2.Response:
        """The recorded answer as an HTTP response, or the recorded failure raised."""
        if answer.failed:
            chunks = recorded_chunks(self.wire, answer.response.raw) if self.streams else None
            if chunks is None:
                return failure_response(self.call, answer)
            failure = recorded_failure(answer.error_type, answer.error or "")
            self.call.returned(answer.response)
            self.call.fail(failure)
            return _streaming(self.wire.events(chunks)[: len(chunks)], failure)
        response = self.call.deliver(answer)
        if self.streams:
            return _streaming(self.wire.events(answer_chunks(self.wire, response, self.body)))
        body = answer_body(self.wire, response, self.body)
        return httpx2.Response(200, headers={"content-type": "application/json"}, content=encoded(body).encode())

    def read(self, response: httpx2.Response) -> None:
        """Take a whole answer."""
        body = loaded(response.content)
        if response.is_success and isinstance(body, dict) and self.wire.is_answer(body):
            self.call.returned(self.wire.response_of(body))
        else:
            say_failed(self.call, response, self.wire)


class Tap:
    """A stream that is handed on as it comes and read on the way; the call ends with it."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked
        self._pending = b""
        self._chunks: list[Body] = []
        self._open = True

    def take(self, piece: bytes) -> None:
        """Read a piece that has been handed on."""
        self._pending += piece.replace(b"\r\n", b"\n")
        *events, self._pending = self._pending.split(b"\n\n")
        for event in events:
            text = b"\n".join(line[5:].strip() for line in event.split(b"\n") if line.startswith(b"data:"))
            chunk = loaded(text)
            if isinstance(chunk, dict):
                self._chunks.append(chunk)

    def end(self, error: BaseException | None = None) -> None:
        """End the call, once: the stream is over, broken, or its reader had enough."""
        if not self._open:
            return
        self._open = False
        if self._chunks:
            self._asked.call.returned(streamed_response(self._asked.wire, self._chunks))
        if error is not None and not isinstance(error, GeneratorExit):
            self._asked.call.fail(error)
        self._asked.call.close()


class TappedStream(httpx2.SyncByteStream):
    """A response's bytes, decompressed, with an ear on them."""

    def __init__(self, response: httpx2.Response, tap: Tap) -> None:
        self._response, self._tap = response, tap

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in self._response.iter_bytes():
                self._tap.take(piece)
                yield piece
        except BaseException as error:
            self._tap.end(error)
            raise
        self._tap.end()

    def close(self) -> None:
        """Close what is below."""
        self._response.close()
        self._tap.end()


class AsyncTappedStream(httpx2.AsyncByteStream):
    """As `TappedStream`, for a response that is awaited."""

    def __init__(self, response: httpx2.Response, tap: Tap) -> None:
        self._response, self._tap = response, tap

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._response.aiter_bytes():
                self._tap.take(piece)
                yield piece
        except BaseException as error:
            self._tap.end(error)
            raise
        self._tap.end()

    async def aclose(self) -> None:
        """Close what is below."""
        await self._response.aclose()
        self._tap.end()


class _Transport:
    """What both transports have in common.

    Args:
        wires: The APIs that are understood.
        let_through: Ends of paths that are sent in a replay too, and never recorded.
    """

    def __init__(self, wires: Sequence[Wire], let_through: Sequence[str]) -> None:
        self._wires = wires
        self._let_through = tuple(let_through)

    def _asked(self, request: httpx2.Request, content: Callable[[], bytes]) -> _Asked | None:
        path = request.url.path.rstrip("/")
        for wire in self._wires:
            if request.method == "POST" and path.endswith(wire.path):
                body = loaded(content())
                if isinstance(body, dict) and not body.get("background"):
                    return _Asked(wire, request, body)
        self._refuse_in_replay(request.method, path)
        return None

    def _refuse_in_replay(self, method: str, path: str) -> None:
        replay = current_replay()
        if replay is None or (self._let_through and path.endswith(self._let_through)):
            return
        replay.refuse_when_over()
        library = self._wires[0].library
        reason = f"the {library} adapter does not intercept it; let_through=[…] lets it be made"
        replay.misfit(f"{method} {path}", {}, reason)


class Transport(_Transport, httpx2.BaseTransport):
    """For clients that block.

    Args:
        client: Sends what is to be sent.
    """

    def __init__(self, client: httpx2.Client, wires: Sequence[Wire], let_through: Sequence[str] = ()) -> None:
        super().__init__(wires, let_through)
        self._client = client

    def __enter__(self) -> Self:
        return self

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """See httpx2."""
        asked = self._asked(request, request.read)
        if asked is None:
            return self._client.send(request, stream=True)
        with ExitStack() as stack:
            call = stack.enter_context(asked.call)
            answer = call.ask()
            if answer is not None:
                return asked.recorded(answer)
            token = call.attach()
            try:
                response = self._client.send(asked.to_send(), stream=True)
            finally:
                call.detach(token)
            if asked.streams and response.is_success:
                stack.pop_all()  # the stream ends the call
                return _with_stream(response, TappedStream(response, Tap(asked)))
            response.read()
            asked.read(response)
            return response

    def close(self) -> None:
        """Close the client that sends."""
        self._client.close()


class AsyncTransport(_Transport, httpx2.AsyncBaseTransport):
    """For clients that are awaited.

    Args:
        client: Sends what is to be sent.
    """

    def __init__(self, client: httpx2.AsyncClient, wires: Sequence[Wire], let_through: Sequence[str] = ()) -> None:
        super().__init__(wires, let_through)
        self._client = client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """See httpx2."""
        content = await request.aread()
        asked = self._asked(request, lambda: content)
        if asked is None:
            return await self._client.send(request, stream=True)
        with ExitStack() as stack:
            call = stack.enter_context(asked.call)
            answer = call.ask()
            if answer is not None:
                return asked.recorded(answer)
            token = call.attach()
            try:
                response = await self._client.send(asked.to_send(), stream=True)
            finally:
                call.detach(token)
            if asked.streams and response.is_success:
                stack.pop_all()  # the stream ends the call
                return _with_stream(response, AsyncTappedStream(response, Tap(asked)))
            await response.aread()
            asked.read(response)
            return response

    async def aclose(self) -> None:
        """Close the client that sends."""
        await self._client.aclose()


def loaded(content: bytes) -> Any:
    """The JSON in some bytes; their text where they are none."""
    try:
        return orjson.loads(content)
    except ValueError:
        with suppress(UnicodeDecodeError):
            return content.decode()
        return None


def _streaming(events: Sequence[bytes], failure: Exception | None = None) -> httpx2.Response:
    """A response that streams some events, and breaks after them where the recorded one did."""
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=_Events(events, failure))


class _Events(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, events: Sequence[bytes], failure: Exception | None) -> None:
        self._events, self._failure = events, failure

    def __iter__(self) -> Iterator[bytes]:
        yield from self._events
        if self._failure is not None:
            raise self._failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for event in self._events:
            yield event
        if self._failure is not None:
            raise self._failure


def _with_stream(response: httpx2.Response, stream: Any) -> httpx2.Response:
    headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _DROPPED]
    return httpx2.Response(response.status_code, headers=headers, stream=stream, extensions=response.extensions)
