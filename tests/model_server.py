"""A model server in a thread that speaks the OpenAI protocol and misbehaves in every way real ones do.

    with ModelServer([status(429, retry_after=1), says('{"answer": true}')]) as server:
        client = OpenAI(base_url=server.base_url, api_key="test")

Chat completions, responses and Anthropic's messages (plain and streamed), and the list of models. What it answers is
a script: a list, one reply a request, the last one for ever; or a function of the request. `requests` logs all that
came, with times.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    at: float
    """Seconds of the monotonic clock."""
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """Decoded JSON; None where there was none."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of a chat completion."""
        return list((self.body or {}).get("messages", []))

    @property
    def text(self) -> str:
        """All message texts in one."""
        return "\n".join(str(message.get("content") or "") for message in self.messages)


@dataclass(frozen=True)
class Reply:
    """One answer, good or bad."""

    content: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    """``{"name": …, "arguments": {…}}`` each, with an ``id`` or without."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    """Sent as the body just as it is."""
    delay: float = 0
    """Seconds before anything is sent."""
    cut: bool = False
    """Whether the connection ends in the middle of the body."""
    drop: bool = False
    """Whether the connection ends before anything is sent."""
    model: str | None = None
    """The model that says it answered; None: the requested one."""
    usage: Mapping[str, Any] | None = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 20})
    finish_reason: str = "stop"
    refusal: str | None = None


def says(content: str, **more: Any) -> Reply:
    """A good answer."""
    return Reply(content=content, **more)


def says_json(value: object, **more: Any) -> Reply:
    """A good answer that is JSON."""
    return Reply(content=json.dumps(value), **more)


def calls(name: str, arguments: Mapping[str, Any], **more: Any) -> Reply:
    """An answer that asks for a tool."""
    return Reply(tool_calls=({"name": name, "arguments": arguments},), finish_reason="tool_calls", **more)


def status(code: int, message: str = "no", *, retry_after: float | str | None = None, **more: Any) -> Reply:
    """An error answer."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    body = json.dumps({"error": {"message": message, "type": "error", "code": code}}).encode()
    return Reply(status=code, headers=headers, raw=body, **more)


def malformed(body: bytes = b'{"choices": [{"mess') -> Reply:
    """An answer of which the body is no JSON."""
    return Reply(raw=body)


def dropped() -> Reply:
    """No answer: the connection just ends."""
    return Reply(drop=True)


def cut_off(content: str = "half of it") -> Reply:
    """An answer that ends in the middle."""
    return Reply(content=content, cut=True)


Script = Callable[[Request], Reply] | Sequence[Reply]
Events = Callable[[dict[str, Any]], Iterator[dict[str, Any]]]


class ModelServer:
    """The server, as a context manager.

    Args:
        script: Replies in order, or a function that gives the reply to a request (called from several threads).
        rate: Requests a second that are let through; what comes sooner gets a 429 with ``Retry-After``.
    """

    def __init__(self, script: Script, *, rate: float | None = None) -> None:
        self.requests: list[Request] = []
        self.refused = 0
        self._script = script
        self._gap = None if rate is None else 1 / rate
        self._next_free = 0.0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def base_url(self) -> str:
        """Where a client is pointed at, ``/v1`` included."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)

    def environment(self, model: str = "gpt-4o-mini") -> dict[str, str]:
        """The variables that point a judge at this server."""
        return {
            "REJUDGE_JUDGE_BASE_URL": self.base_url,
            "REJUDGE_JUDGE_API_KEY": "test-key",
            "REJUDGE_JUDGE_MODEL": model,
        }

    def reply_to(self, request: Request) -> Reply:
        """What the script says to a request; logs it."""
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
            if self._gap is not None:
                wait = self._next_free - request.at
                if wait > 0:
                    self.refused += 1
                    return status(429, "too many requests", retry_after=round(wait + 0.01, 3))
                self._next_free = max(request.at, self._next_free) + self._gap
            if not callable(self._script):
                return self._script[min(number, len(self._script) - 1)]
        return self._script(request)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are written apart: 40 ms each otherwise

            def do_GET(self) -> None:
                body = {"object": "list", "data": [{"id": "gpt-4o-mini", "object": "model", "owned_by": "tests"}]}
                self._send(Reply(raw=json.dumps(body).encode()), b"", "application/json")

            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                try:
                    body = json.loads(self.rfile.read(length) or b"null")
                except ValueError:
                    body = None
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(time.monotonic(), "POST", self.path, headers, body)
                reply = owner.reply_to(request)
                time.sleep(reply.delay)
                if reply.drop:
                    self.close_connection = True
                    return
                if reply.raw is not None:
                    self._send(reply, reply.raw, "application/json")
                elif self.path.endswith("/responses"):
                    self._answer(request, reply, _response(request, reply), _response_events)
                elif self.path.endswith("/messages"):
                    self._answer(request, reply, _message(request, reply), _message_events)
                elif isinstance(body, dict) and body.get("stream"):
                    self._send(reply, b"".join(_events(request, reply)), "text/event-stream")
                else:
                    self._send(reply, json.dumps(_completion(request, reply)).encode(), "application/json")

            def _answer(self, request: Request, reply: Reply, answer: dict[str, Any], events: Events) -> None:
                if (request.body or {}).get("stream"):
                    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events(answer)]
                    self._send(reply, "".join(lines).encode(), "text/event-stream")
                else:
                    self._send(reply, json.dumps(answer).encode(), "application/json")

            def _send(self, reply: Reply, body: bytes, kind: str) -> None:
                body = body or reply.raw or b""
                try:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        self.send_header(name, value)
                    self.send_header("content-type", kind)
                    self.send_header("content-length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body[: len(body) // 2] if reply.cut else body)
                except OSError:
                    self.close_connection = True  # the client gave up waiting
                if reply.cut:
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def _model(request: Request, reply: Reply) -> str:
    return reply.model or str((request.body or {}).get("model") or "unknown")


def _tool_calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {
            "id": call.get("id", f"call_{number}"),
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call["arguments"])},
        }
        for number, call in enumerate(reply.tool_calls)
    ]


def _usage(reply: Reply) -> dict[str, Any] | None:
    if reply.usage is None:
        return None
    usage = dict(reply.usage)
    usage.setdefault("total_tokens", usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0))
    return usage


def _completion(request: Request, reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.content, "refusal": reply.refusal}
    if reply.tool_calls:
        message["tool_calls"] = _tool_calls(reply)
    completion: dict[str, Any] = {
        "id": "chatcmpl-test",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": _model(request, reply),
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reply.finish_reason}],
    }
    usage = _usage(reply)
    return completion if usage is None else completion | {"usage": usage}


def _events(request: Request, reply: Reply) -> Iterator[bytes]:
    shared = {
        "id": "chatcmpl-test",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": _model(request, reply),
    }

    def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return f"data: {json.dumps({**shared, 'choices': choices, **more})}\n\n".encode()

    yield event({"role": "assistant", "content": ""})
    for piece in re.findall(r"\s*\S+|\s+", reply.content or ""):
        yield event({"content": piece})
    if reply.tool_calls:
        yield event({"tool_calls": [{"index": index, **call} for index, call in enumerate(_tool_calls(reply))]})
    yield event({}, reply.finish_reason)
    if (request.body or {}).get("stream_options", {}).get("include_usage"):
        yield f"data: {json.dumps({**shared, 'choices': [], 'usage': _usage(reply)})}\n\n".encode()
    yield b"data: [DONE]\n\n"


def _response(request: Request, reply: Reply) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if reply.content is not None:
        text = {"type": "output_text", "text": reply.content, "annotations": []}
        output.append(
            {"type": "message", "id": "msg_test", "role": "assistant", "status": "completed", "content": [text]}
        )
    for number, call in enumerate(reply.tool_calls):
        output.append(
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": call.get("id", f"call_{number}"),
                "name": call["name"],
                "arguments": json.dumps(call["arguments"]),
                "status": "completed",
            }
        )
    usage = _usage(reply) or {}
    return {
        "id": "resp_test",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "model": _model(request, reply),
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": usage.get("prompt_tokens", 0),
            "output_tokens": usage.get("completion_tokens", 0),
            "total_tokens": usage.get("total_tokens", 0),
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _response_events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A response as it is streamed, texts and arguments in pieces."""
    numbers = iter(range(1_000_000))

    def event(kind: str, **more: Any) -> dict[str, Any]:
        return {"type": f"response.{kind}", "sequence_number": next(numbers), **more}

    opened = {**response, "status": "in_progress", "output": [], "usage": None}
    yield event("created", response=opened)
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            [part] = item["content"]
            place["content_index"] = 0
            yield event(
                "output_item.added", output_index=index, item={**item, "content": [], "status": "in_progress"}
            )
            yield event("content_part.added", **place, part={**part, "text": ""})
            for piece in re.findall(r"\s*\S+|\s+", part["text"]):
                yield event("output_text.delta", **place, delta=piece, logprobs=[])
            yield event("output_text.done", **place, text=part["text"], logprobs=[])
            yield event("content_part.done", **place, part=part)
        else:
            arguments = item["arguments"]
            yield event("output_item.added", output_index=index, item={**item, "arguments": ""})
            for piece in (arguments[:4], arguments[4:]):
                yield event("function_call_arguments.delta", **place, delta=piece)
            yield event("function_call_arguments.done", **place, name=item["name"], arguments=arguments)
        yield event("output_item.done", output_index=index, item=item)
    yield event("completed", response=response)


def _message(request: Request, reply: Reply) -> dict[str, Any]:
    """A reply as Anthropic's messages say it."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.content}] if reply.content is not None else []
    content += [
        {
            "type": "tool_use",
            "id": call.get("id", f"toolu_{number}"),
            "name": call["name"],
            "input": call["arguments"],
        }
        for number, call in enumerate(reply.tool_calls)
    ]
    usage = _usage(reply) or {}
    return {
        "id": "msg_test",
        "type": "message",
        "role": "assistant",
        "model": _model(request, reply),
        "content": content,
        "stop_reason": "tool_use" if reply.tool_calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": usage.get("prompt_tokens", 0), "output_tokens": usage.get("completion_tokens", 0)},
    }


def _message_events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message as it is streamed, texts and inputs in pieces."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty = {**block, "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in re.findall(r"\s*\S+|\s+", block["text"])]
        else:
            empty, text = {**block, "input": {}}, json.dumps(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in (text[:4], text[4:])]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}
