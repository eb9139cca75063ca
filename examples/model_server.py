"""A model server on this machine: the OpenAI chat completions protocol, answered by `scripted_model.py`.

    python examples/model_server.py --port 8790

It listens on 127.0.0.1 only, takes any key or none, streams where it is asked to, and prints its address first.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import scripted_model

LARGEST_REQUEST = 8 * 1024 * 1024


class ModelServer(ThreadingHTTPServer):
    """Answers each request in a thread of its own.

    Args:
        port: 0 takes one that is free.
        delay: Seconds that a model call takes at least, so that latencies are not all zero.
    """

    daemon_threads = True

    def __init__(self, port: int = 0, *, delay: float = 0.0) -> None:
        super().__init__(("127.0.0.1", port), _Conversation)
        self.delay = delay
        self.calls = 0
        """Chat requests answered so far."""

    @property
    def url(self) -> str:
        """What a client is given as its base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


@contextmanager
def serving(port: int = 0, *, delay: float = 0.0) -> Iterator[ModelServer]:
    """A running server, stopped at the end."""
    with ModelServer(port, delay=delay) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


class _Conversation(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body go out in two writes: the second must not wait
    server: ModelServer

    def do_GET(self) -> None:
        if self.path == "/v1/models":
            models = [{"id": name, "object": "model", "owned_by": "examples"} for name in scripted_model.PRICES]
            return self._send(200, {"object": "list", "data": models})
        return self._refuse(404, f"nothing is served at {self.path}")

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        if self.path != "/v1/chat/completions" or size > LARGEST_REQUEST:
            self.close_connection = True
            return self._refuse(404 if size <= LARGEST_REQUEST else 413, f"cannot answer {self.path}, {size} bytes")
        try:
            request = json.loads(self.rfile.read(size))
            reply = scripted_model.answer(request)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self._refuse(400, f"not a chat request: {error}")
        self.server.calls += 1
        time.sleep(self.server.delay)
        if request.get("stream"):
            include_usage = (request.get("stream_options") or {}).get("include_usage")
            return self._stream(reply, include_usage=bool(include_usage))
        return self._send(200, reply)

    def _refuse(self, status: int, text: str) -> None:
        self._send(status, {"error": {"message": text, "type": "invalid_request_error", "code": None}})

    def _send(self, status: int, body: dict[str, Any]) -> None:
        encoded = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def _stream(self, reply: dict[str, Any], *, include_usage: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for chunk in _chunks(reply, include_usage=include_usage):
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the demo speaks for itself."""


def _chunks(reply: dict[str, Any], *, include_usage: bool) -> Iterator[dict[str, Any]]:
    """The reply in the pieces in which a streaming server sends it."""
    message, finish_reason = reply["choices"][0]["message"], reply["choices"][0]["finish_reason"]
    head = {
        "id": reply["id"],
        "object": "chat.completion.chunk",
        "created": reply["created"],
        "model": reply["model"],
    }
    for delta in _deltas(message):
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish_reason}]}
    if include_usage:
        yield {**head, "choices": [], "usage": reply["usage"]}


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "" if message["content"] is not None else None}
    for word in re.findall(r"\S+\s*", message["content"] or ""):
        yield {"content": word}
    for place, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        yield {"tool_calls": [{**call, "index": place, "function": {"name": function["name"], "arguments": ""}}]}
        half = len(function["arguments"]) // 2
        for piece in (function["arguments"][:half], function["arguments"][half:]):
            yield {"tool_calls": [{"index": place, "function": {"arguments": piece}}]}


def main() -> None:
    """Serve until it is told to stop."""
    parser = argparse.ArgumentParser(description="A scripted model on 127.0.0.1, in OpenAI's protocol.")
    parser.add_argument("--port", type=int, default=8790, help="0 takes one that is free")
    parser.add_argument("--delay", type=float, default=0.03, help="seconds that a call takes at least")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ModelServer(given.port, delay=given.delay) as server:
        print(server.url, flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()


if __name__ == "__main__":
    main()
