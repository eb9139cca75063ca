"""The OTLP/HTTP endpoint: checks a request, has it stored, and answers as the protocol says."""

from __future__ import annotations

import asyncio
import hmac
import logging
from dataclasses import dataclass
from functools import partial
from typing import Final

from anyio import CapacityLimiter, to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rejudge.otel.receiver.answers import MEDIA_TYPES, Form, Kind, accepted, form_of, refused
from rejudge.otel.receiver.decoding import Verdict, inspect
from rejudge.otel.receiver.encoding import decompress
from rejudge.otel.receiver.refused import Refused
from rejudge.otel.receiver.segments import Record
from rejudge.otel.receiver.spool import Spool, SpoolFull

BODY_BYTES: Final = 64 * 1024 * 1024
"""What the protocol recommends as the limit of a request, before and after decompression."""

RETRY_AFTER: Final = 1
"""Seconds. The SDK's exporters give a batch up when its time, ten seconds by default, is over."""

_IN_FLIGHT_BYTES: Final = 4 * BODY_BYTES
_BODY_SECONDS: Final = 30.0
_LARGE: Final = 8 * 1024 * 1024
_DISCARD_SECONDS: Final = 2.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rules:
    """Who may send, and how much."""

    token: str | None = None
    """A bearer token that every request must carry; None: none."""
    body_bytes: int = BODY_BYTES
    """Size of a request's body, as it comes and when it is decompressed."""


def make_app(spool: Spool, rules: Rules) -> Starlette:
    """The receiver as an ASGI application: ``/v1/traces``, ``/v1/logs``, ``/v1/metrics`` and ``/health``.

    A 200 is only answered once what was accepted is durable in the spool.
    """
    endpoint = _Endpoint(spool, rules)
    return Starlette(
        routes=[
            Route("/v1/traces", partial(endpoint.export, kind="traces"), methods=["POST"]),
            Route("/v1/logs", partial(endpoint.export, kind="logs"), methods=["POST"]),
            Route("/v1/metrics", partial(endpoint.export, kind="metrics"), methods=["POST"]),
            Route("/health", endpoint.health, methods=["GET"]),
        ],
        exception_handlers={HTTPException: _no_such_thing},
    )


class _Endpoint:
    def __init__(self, spool: Spool, rules: Rules) -> None:
        self._spool = spool
        self._rules = rules
        self._in_flight = 0
        # Decoding takes a multiple of a body's size: large ones go one at a time.
        self._small, self._large = CapacityLimiter(4), CapacityLimiter(1)

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "pending_requests": self._spool.pending})

    async def export(self, request: Request, kind: Kind) -> Response:
        form = form_of(request.headers.get("content-type", ""))
        try:
            return await self._take(request, kind, form)
        except Refused as error:
            if error.status in (401, 403, 413, 415):
                await _discard(request, self._rules.body_bytes)
            return refused(error, form)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        except Exception:
            _log.exception("a request failed")
            return refused(Refused(500, "the receiver failed on this request; its log says why"), form)

    async def _take(self, request: Request, kind: Kind, form: Form | None) -> Response:
        self._check_sender(request)
        if form is None:
            kinds = " or ".join(MEDIA_TYPES)
            given = request.headers.get("content-type", "")[:100]
            raise Refused(415, f"Content-Type {given!r} is not supported: send {kinds}")
        body = bytearray()
        try:
            await self._read(request, body)
            verdict = await self._store(request, kind, form, bytes(body))
        finally:
            self._in_flight -= len(body)
        if verdict.rejected:
            return accepted(kind, form, rejected=verdict.rejected, message=verdict.reason)
        return accepted(kind, form)

    def _check_sender(self, request: Request) -> None:
        # Only browsers send it: no web page is to reach a receiver on this machine.
        if "origin" in request.headers:
            raise Refused(403, "requests from web pages are not accepted")
        if self._rules.token is None:
            return
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(given.strip().encode(), self._rules.token.encode())
        if scheme.lower() != "bearer" or not same:
            message = "send the receiver's token as the header 'Authorization: Bearer TOKEN'"
            raise Refused(401, message, headers={"WWW-Authenticate": "Bearer"})

    async def _read(self, request: Request, body: bytearray) -> None:
        limit = self._rules.body_bytes
        declared = request.headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            raise _body_too_large(limit)
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                async for chunk in request.stream():
                    if len(body) + len(chunk) > limit:
                        raise _body_too_large(limit)
                    if self._in_flight + len(chunk) > _IN_FLIGHT_BYTES:
                        raise Refused(503, "too many requests at once", retry_after=RETRY_AFTER)
                    body += chunk
                    self._in_flight += len(chunk)
        except TimeoutError as error:
            raise Refused(408, f"the body did not arrive within {_BODY_SECONDS:.0f} seconds") from error

    async def _store(self, request: Request, kind: Kind, form: Form, body: bytes) -> Verdict:
        encoding = request.headers.get("content-encoding", "")
        limiter = self._large if len(body) > _LARGE else self._small
        work = partial(self._store_now, kind, form, encoding, body)
        return await to_thread.run_sync(work, limiter=limiter)

    def _store_now(self, kind: Kind, form: Form, encoding: str, body: bytes) -> Verdict:
        content = decompress(body, encoding, limit=self._rules.body_bytes)
        if kind == "metrics":
            return Verdict(0, 0)  # agents send them beside their spans; there is no use for them here
        verdict = inspect(content, kind, form)
        if verdict.accepted:
            try:
                self._spool.append(Record(kind, form, encoding.strip().lower(), body, len(content)))
            except SpoolFull as error:
                raise Refused(503, str(error), retry_after=RETRY_AFTER) from error
        return verdict


def _body_too_large(limit: int) -> Refused:
    return Refused(413, f"the body is larger than {limit} bytes: send smaller batches")


async def _discard(request: Request, limit: int) -> None:
    """Reads on for a moment: a client that is still sending would see a broken connection, not the answer."""
    size = 0
    try:
        async with asyncio.timeout(_DISCARD_SECONDS):
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    return
    except (TimeoutError, ClientDisconnect, RuntimeError):
        return


async def _no_such_thing(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    form = form_of(request.headers.get("content-type", ""))
    paths = "POST to /v1/traces, /v1/logs or /v1/metrics"
    return refused(Refused(error.status_code, f"{error.detail}: {paths}", headers=error.headers), form)
