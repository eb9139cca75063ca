"""What a command agent talks to: an OTLP/HTTP sink for its spans, and the tape, on the loopback interface.

The protocol, for an agent in any language. Every request but OTLP carries ``Authorization: Bearer
$REJUDGE_TAPE_TOKEN``; bodies are JSON.

``POST $REJUDGE_TAPE_URL/tool`` ``{"name", "arguments", "call_id"?}`` before each tool call:

- ``{"answered": true, "result": …}``: take this for the result, and do not run the tool;
- ``{"answered": true, "error": {"message", "type"}}``: the recorded call failed: fail in the same way;
- ``{"answered": false, "action": "call"}``: run the tool;
- ``{"answered": false, "action": "error", "miss": "…"}``: treat it as a tool error, and do not run the tool;
- ``{"answered": false, "action": "stop", "miss": "…"}``: the replay is over; exit.

``POST $REJUDGE_TAPE_URL/model`` ``{"model", "messages", "system_instructions"?, "tools"?, "parameters"?,
"provider"?}`` (messages in the GenAI schema) before each model call: as above, with the recorded ``response``
(``{"messages", "model", "response_id", …, "raw"}``) in place of ``result``, and with ``request``: the request with
the fork's override in it, which is the one to send.

``POST $REJUDGE_TAPE_URL/override`` ``{"part"}`` (``model``, ``model:OLD``, ``system_prompt``, ``prompt``,
``model_params``) for what the agent overrides by itself: ``{"applies": true, "value": …}`` where it is to use the
value. ``POST $REJUDGE_TAPE_URL/offered-tools`` ``{}`` gives ``{"tools": […]}``: the definitions that the recorded
model calls offered, for an agent that would ask an MCP server for them. ``GET $REJUDGE_TAPE_URL/plan`` is what
``REJUDGE_REPLAY_FILE`` holds.

Spans go to ``$OTEL_EXPORTER_OTLP_ENDPOINT/v1/traces`` and ``/v1/logs`` as any exporter sends them: protobuf or JSON,
plain or compressed.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import orjson

from rejudge.errors import NoRecordedAnswer, ReplayEnded
from rejudge.models.canonical import JsonValue
from rejudge.otel.span import Batch
from rejudge.replay.remote import request_json, request_of
from rejudge.replay.request import ModelRequest
from rejudge.replay.rerun import Rerun

BODY_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of one request, decompressed."""

_TOTAL_LIMIT: Final = 512 * 1024 * 1024
_SIGNALS: Final = {"/v1/traces": "traces", "/v1/logs": "logs", "/v1/metrics": "metrics"}


class Endpoint:
    """One run's endpoint, serving until it is closed.

    Args:
        rerun: Decides on the calls.
        plan: What ``/plan`` gives.
    """

    def __init__(self, rerun: Rerun, plan: Mapping[str, JsonValue]) -> None:
        self.rerun = rerun
        self.plan = plan
        self.token = secrets.token_urlsafe(24)
        self.batch = Batch()
        self._received = 0
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def tape_url(self) -> str:
        """For ``REJUDGE_TAPE_URL``."""
        return f"http://127.0.0.1:{self._server.server_port}/tape"

    @property
    def otlp_url(self) -> str:
        """For ``OTEL_EXPORTER_OTLP_ENDPOINT``: the token is in the path, since not every exporter sends headers."""
        return f"http://127.0.0.1:{self._server.server_port}/{self.token}"

    def close(self) -> Batch:
        """Stop serving; what was received."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        return self.batch

    def is_token(self, said: str) -> bool:
        """Whether a token is this run's."""
        return hmac.compare_digest(said.encode(), self.token.encode())

    def receive(self, signal: str, content_type: str, encoding: str, body: bytes) -> None:
        """Take an export request.

        Raises:
            Refused: Where it cannot be read, or too much was received.
        """
        from rejudge.otel.receiver.answers import form_of
        from rejudge.otel.receiver.decoding import decode
        from rejudge.otel.receiver.encoding import decompress
        from rejudge.otel.receiver.refused import Refused

        if signal == "metrics":
            return
        form = form_of(content_type)
        if form is None:
            raise Refused(415, "send application/x-protobuf or application/json")
        content = decompress(body, encoding, limit=BODY_LIMIT)
        with self._lock:
            self._received += len(content)
            if self._received > _TOTAL_LIMIT:
                raise Refused(413, "this run has sent too much")
            decode(content, "logs" if signal == "logs" else "traces", form, self.batch)


@contextmanager
def serving(rerun: Rerun, plan: Mapping[str, JsonValue]) -> Iterator[Endpoint]:
    """An endpoint for the length of a block."""
    endpoint = Endpoint(rerun, plan)
    try:
        yield endpoint
    finally:
        endpoint.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.endpoint = endpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that hung up is no event."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the agent's output is the agent's."""

    def do_GET(self) -> None:
        endpoint = self.server.endpoint
        if self.path == "/tape/plan" and self._is_allowed():
            self._answer(200, dict(endpoint.plan))
        else:
            self._answer(404, {"error": "there is nothing here"})

    def do_POST(self) -> None:
        body = self._body()
        if body is None:
            return
        signal = self._otlp_signal()
        if signal is not None:
            self._take_spans(signal, body)
            return
        question = _QUESTIONS.get(self.path)
        if question is None:
            self._answer(404, {"error": f"there is no {self.path}; ask {', '.join(_QUESTIONS)}"})
        elif not self._is_allowed():
            self._answer(401, {"error": "send Authorization: Bearer $REJUDGE_TAPE_TOKEN"})
        else:
            self._take_question(question, body)

    def _take_question(self, question: Callable[[Rerun, dict[str, Any]], dict[str, Any]], body: bytes) -> None:
        try:
            asked = orjson.loads(body)
            if not isinstance(asked, dict):
                raise ValueError("the body is not a JSON object")
            answer = question(self.server.endpoint.rerun, asked)
        except NoRecordedAnswer as error:
            answer = {"answered": False, "action": "error", "miss": str(error), **_refused(error.request)}
        except ReplayEnded as ended:
            answer = {"answered": False, "action": "stop", "miss": str(ended), **_refused(ended.request)}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            self._answer(400, {"error": f"{type(error).__name__}: {error}"})
            return
        self._answer(200, answer)

    def _take_spans(self, signal: str, body: bytes) -> None:
        from rejudge.otel.receiver.refused import Refused

        kind = self.headers.get("content-type", "")
        try:
            self.server.endpoint.receive(signal, kind, self.headers.get("content-encoding", ""), body)
        except Refused as refused:
            self._answer(refused.status, {"message": refused.message})
            return
        # An empty protobuf message is an empty body.
        self._send(200, b"{}" if "json" in kind else b"", "application/json" if "json" in kind else kind)

    def _otlp_signal(self) -> str | None:
        token, slash, path = self.path.lstrip("/").partition("/")
        known = _SIGNALS.get(f"/{path}") if slash else None
        return known if known is not None and self.server.endpoint.is_token(token) else None

    def _is_allowed(self) -> bool:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.server.endpoint.is_token(token.strip())

    def _body(self) -> bytes | None:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self._chunks()
        length = self.headers.get("content-length", "")
        if not length.isdecimal():
            self._refuse(411, "send a Content-Length")
            return None
        if int(length) > BODY_LIMIT:
            self._refuse(413, f"a body has at most {BODY_LIMIT} bytes")
            return None
        return self.rfile.read(int(length))

    def _chunks(self) -> bytes | None:
        body = bytearray()
        while True:
            size = self.rfile.readline(64).split(b";")[0].strip()
            try:
                count = int(size, 16)
            except ValueError:
                self._refuse(400, "the chunks cannot be read")
                return None
            if len(body) + count > BODY_LIMIT:
                self._refuse(413, f"a body has at most {BODY_LIMIT} bytes")
                return None
            body += self.rfile.read(count)
            self.rfile.readline(8)
            if count == 0:
                return bytes(body)

    def _refuse(self, status: int, message: str) -> None:
        self.close_connection = True
        self._answer(status, {"error": message})

    def _answer(self, status: int, body: Mapping[str, JsonValue]) -> None:
        self._send(status, orjson.dumps(body, default=str, option=orjson.OPT_NON_STR_KEYS), "application/json")

    def _send(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _ask_tool(rerun: Rerun, asked: dict[str, Any]) -> dict[str, Any]:
    schema = asked.get("schema")
    answer = rerun.ask_tool(
        str(asked["name"]),
        dict(asked.get("arguments") or {}),
        spellings=list(asked.get("spellings") or ()),
        call_id=asked.get("call_id"),
        schema=(lambda: schema) if isinstance(schema, dict) else None,
    )
    if answer is None:
        return {"answered": False, "action": "call"}
    facts = {"answered": True, "source": answer.source, "node_id": answer.node_id, "inferred": answer.inferred}
    if answer.failed:
        return {**facts, "error": {"message": answer.error, "type": answer.error_type}, "result": answer.result}
    return {**facts, "result": answer.result}


def _ask_model(rerun: Rerun, asked: dict[str, Any]) -> dict[str, Any]:
    request, answer = rerun.ask_model(request_of(asked))
    if answer is None:
        return {"answered": False, "action": "call", "request": request_json(request)}
    facts = {"answered": True, "source": "history", "node_id": answer.node_id, "request": request_json(request)}
    if answer.failed:
        return {**facts, "error": {"message": answer.error, "type": answer.error_type}}
    return {**facts, "response": asdict(answer.response)}


def _refused(request: object) -> dict[str, Any]:
    return {"request": request_json(request)} if isinstance(request, ModelRequest) else {}


def _list_offered(rerun: Rerun, asked: dict[str, Any]) -> dict[str, Any]:
    return {"tools": rerun.offered_tools()}


def _ask_override(rerun: Rerun, asked: dict[str, Any]) -> dict[str, Any]:
    part = str(asked["part"])
    if not rerun.take_override(part):
        return {"applies": False}
    override = rerun.plan.override
    value = override.model_for(part.partition(":")[2]) if part.startswith("model:") else getattr(override, part)
    return {"applies": True, "value": value}


def _say_misfit(rerun: Rerun, asked: dict[str, Any]) -> dict[str, Any]:
    rerun.misfit(str(asked["name"]), dict(asked.get("arguments") or {}), str(asked.get("reason")))


_QUESTIONS: Final[dict[str, Callable[[Rerun, dict[str, Any]], dict[str, Any]]]] = {
    "/tape/tool": _ask_tool,
    "/tape/model": _ask_model,
    "/tape/offered-tools": _list_offered,
    "/tape/override": _ask_override,
    "/tape/misfit": _say_misfit,
}
