"""The protocol of a model's HTTP API, as far as a transport has to understand it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import orjson

from rejudge.models.canonical import JsonValue
from rejudge.replay.request import ModelRequest, ModelResponse

Body = dict[str, Any]


class Wire(Protocol):
    """One API: its requests, its answers, and its streams of server-sent events."""

    path: str
    """How the path of its URL ends."""
    library: str
    """The client's package: where its errors live."""

    def request_of(self, body: Body) -> ModelRequest:
        """What a body asks for."""

    def edited(self, body: Body, before: ModelRequest, after: ModelRequest) -> Body:
        """The body with what a fork changed."""

    def response_of(self, body: Body) -> ModelResponse:
        """What a whole answer says."""

    def is_answer(self, body: Mapping[str, Any]) -> bool:
        """Whether this is a whole answer of this API."""

    def is_chunk(self, chunk: Mapping[str, Any]) -> bool:
        """Whether this is a piece of a stream of this API."""

    def joined(self, chunks: Sequence[Body]) -> Body:
        """The whole answer that was streamed, as far as it came."""

    def rebuilt(self, response: ModelResponse, asked: Body) -> Body:
        """A whole answer that says what was recorded, for one of which the wire form is not."""

    def chunks_of(self, answer: Body, asked: Body) -> list[Body]:
        """A whole answer as it is streamed."""

    def events(self, chunks: Sequence[Body]) -> list[bytes]:
        """The server-sent events of a stream, its last words included."""


def answer_body(wire: Wire, response: ModelResponse, asked: Body) -> Body:
    """The recorded answer as a whole body: what came, or one that says the same."""
    chunks = recorded_chunks(wire, response.raw)
    if chunks is not None:
        return wire.joined(chunks)
    body = response.raw
    return body if isinstance(body, dict) and wire.is_answer(body) else wire.rebuilt(response, asked)


def answer_chunks(wire: Wire, response: ModelResponse, asked: Body) -> list[Body]:
    """The recorded answer as it is streamed: the chunks that came, or some that say the same."""
    chunks = recorded_chunks(wire, response.raw)
    return wire.chunks_of(answer_body(wire, response, asked), asked) if chunks is None else chunks


def streamed_response(wire: Wire, chunks: Sequence[Body]) -> ModelResponse:
    """What a stream said, with its chunks."""
    return replace(wire.response_of(wire.joined(chunks)), raw=list(chunks))


def recorded_chunks(wire: Wire, raw: JsonValue) -> list[Body] | None:
    """The chunks of a recorded stream; None where the wire form is not one of this API."""
    if not isinstance(raw, list) or not raw:
        return None
    return raw if all(isinstance(chunk, dict) and wire.is_chunk(chunk) for chunk in raw) else None


def encoded(value: JsonValue) -> str:
    """Compact JSON text."""
    return orjson.dumps(value, default=str).decode()


def argument_text(arguments: JsonValue) -> str:
    """A tool call's arguments as the APIs of OpenAI write them."""
    return arguments if isinstance(arguments, str) else encoded({} if arguments is None else arguments)


def whole_number(usage: Mapping[str, Any], *path: str) -> int | None:
    """A count in a usage object; None where it is not reported."""
    found: Any = usage
    for step in path:
        found = found.get(step) if isinstance(found, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def finish_reason_of(response: ModelResponse, message: Mapping[str, Any]) -> str | None:
    """Why a recorded answer ended, lower case."""
    reason = message.get("finish_reason") or response.finish_reason
    return str(reason).lower() if reason else None
