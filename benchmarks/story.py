"""One generated run of an agent as spans in the GenAI conventions, in the order in which they end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import orjson

from benchmarks.desk import SYSTEM_PROMPT, TOOLS, Desk
from benchmarks.otlp import CLIENT, INTERNAL, AttributeValue, span

AGENT: Final = "support-desk"
EPOCH: Final = 1_793_610_000_000_000_000
"""Nanoseconds: 2 November 2026, 9:00 UTC. Every generated run starts at or after it."""

_MILLISECOND = 1_000_000
_RATE_LIMITED = ("RateLimitError", "Error code: 429 - rate limit reached for requests")


@dataclass(slots=True)
class Counts:
    """What was generated: what an import of it has to say."""

    sessions: int = 0
    spans: int = 0
    model_calls: int = 0
    model_errors: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Story:
    """One session, which may be told in several traces.

    Args:
        random: Where everything invented comes from.
        start: Nanoseconds since 1970.
        window: Messages of history that a model call repeats; None: all of it, as most agents do.
    """

    random: Random
    start: int
    counts: Counts
    window: int | None = None
    desk: Desk = field(init=False)
    conversation_id: str = field(init=False)
    _messages: deque[str] = field(init=False)
    _now: int = field(init=False)
    _trace_id: str = field(init=False)
    _root_id: str = field(init=False)

    def __post_init__(self) -> None:
        self.desk = Desk(self.random)
        self.conversation_id = f"conv-{self.random.getrandbits(64):016x}"
        self._messages = deque(maxlen=self.window)
        self._now = self.start
        self.counts.sessions += 1

    def turn(self, nodes: int, *, question: str | None = None) -> Iterator[dict[str, Any]]:
        """One trace of exactly `nodes` spans (at least 2): the agent's, which ends last, and the calls in it.

        The last call is the model's answer; before it, model calls ask for one to three tools.
        """
        self._trace_id, self._root_id = self._id(128), self._id(64)
        began, asked = self._now, _user(question or self.desk.question())
        self._messages.append(asked)
        left = nodes - 2
        while left > 0:
            wanted = min(self.random.choice((1, 1, 1, 2, 3)), left - 1)
            if wanted == 0:
                yield self._failed_model_call()
            else:
                yield from self._tool_round(wanted)
            left -= 1 + wanted
        answer = _assistant([_text(self.desk.answer())])
        yield self._model_call(answer, "stop")
        yield self._agent(began, asked, answer)

    def _tool_round(self, wanted: int) -> Iterator[dict[str, Any]]:
        calls = [(f"call_{self._id(96)}", *self.desk.tool_call()) for _ in range(wanted)]
        parts = [{"type": "tool_call", "id": key, "name": name, "arguments": given} for key, name, given in calls]
        yield self._model_call(_assistant(parts), "tool_calls")
        for key, name, arguments in calls:
            yield self._tool_call(key, name, arguments)

    def _model_call(self, answer: str, finish_reason: str) -> dict[str, Any]:
        history = f"[{','.join(self._messages)}]"
        input_tokens = 180 + len(history) // 4
        output_tokens = 4 + len(answer) // 4
        cached = input_tokens // 2 if len(self._messages) > 2 else 0
        attributes = self._request(history) | {
            "gen_ai.response.model": self.desk.model,
            "gen_ai.response.id": f"chatcmpl-{self._id(96)}",
            "gen_ai.response.finish_reasons": [finish_reason],
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
            "gen_ai.usage.cache_read.input_tokens": cached,
            "gen_ai.output.messages": f'[{answer[:-1]},"finish_reason":"{finish_reason}"}}]',
        }
        self._messages.append(answer)
        self.counts.input_tokens += input_tokens
        self.counts.output_tokens += output_tokens
        return self._chat(attributes, None)

    def _failed_model_call(self) -> dict[str, Any]:
        kind, text = _RATE_LIMITED
        self.counts.model_errors += 1
        return self._chat(self._request(f"[{','.join(self._messages)}]") | {"error.type": kind}, text)

    def _chat(self, attributes: dict[str, AttributeValue], error: str | None) -> dict[str, Any]:
        self.counts.model_calls += 1
        took = self.random.randrange(300, 4_000)
        return self._span(f"chat {self.desk.model}", CLIENT, took, attributes, error)

    def _request(self, history: str) -> dict[str, AttributeValue]:
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": self.desk.provider,
            "gen_ai.request.model": self.desk.model,
            "gen_ai.request.temperature": 0.2,
            "gen_ai.conversation.id": self.conversation_id,
            "gen_ai.system_instructions": _SYSTEM,
            "gen_ai.tool.definitions": _DEFINITIONS,
            "gen_ai.input.messages": history,
        }

    def _tool_call(self, key: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.counts.tool_calls += 1
        attributes: dict[str, AttributeValue] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": key,
            "gen_ai.tool.description": TOOLS[name][0],
            "gen_ai.tool.call.arguments": orjson.dumps(arguments).decode(),
        }
        failure = self.desk.tool_error()
        if failure is None:
            result = self.desk.tool_result(name)
            attributes["gen_ai.tool.call.result"] = orjson.dumps(result).decode()
        else:
            self.counts.tool_errors += 1
            attributes["error.type"] = failure[0]
            result = {"error": failure[1]}
        self._messages.append(_tool_response(key, result))
        took = self.random.randrange(5, 400)
        return self._span(f"execute_tool {name}", INTERNAL, took, attributes, failure and failure[1])

    def _span(
        self, name: str, kind: int, took: int, attributes: dict[str, AttributeValue], error: str | None
    ) -> dict[str, Any]:
        start = self._now + _MILLISECOND
        self._now = start + took * _MILLISECOND
        self.counts.spans += 1
        return span(
            trace_id=self._trace_id,
            span_id=self._id(64),
            parent_id=self._root_id,
            name=name,
            kind=kind,
            start=start,
            end=self._now,
            attributes=attributes,
            error=error,
        )

    def _agent(self, began: int, asked: str, answer: str) -> dict[str, Any]:
        self._now += _MILLISECOND
        self.counts.spans += 1
        return span(
            trace_id=self._trace_id,
            span_id=self._root_id,
            parent_id=None,
            name=f"invoke_agent {AGENT}",
            kind=INTERNAL,
            start=began,
            end=self._now,
            attributes={
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": AGENT,
                "gen_ai.provider.name": self.desk.provider,
                "gen_ai.conversation.id": self.conversation_id,
                "gen_ai.input.messages": f"[{asked}]",
                "gen_ai.output.messages": f'[{answer[:-1]},"finish_reason":"stop"}}]',
            },
        )

    def _id(self, bits: int) -> str:
        # No id of zeros: OTLP reads that as none.
        return f"{self.random.getrandbits(bits) | 1:0{bits // 4}x}"


def _text(content: str) -> dict[str, Any]:
    return {"type": "text", "content": content}


def _user(content: str) -> str:
    return orjson.dumps({"role": "user", "parts": [_text(content)]}).decode()


def _assistant(parts: list[dict[str, Any]]) -> str:
    return orjson.dumps({"role": "assistant", "parts": parts}).decode()


def _tool_response(key: str, result: dict[str, Any]) -> str:
    part = {"type": "tool_call_response", "id": key, "response": result}
    return orjson.dumps({"role": "tool", "parts": [part]}).decode()


def _definition(name: str, description: str, parameter: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {parameter: {"type": "string"}}, "required": [parameter]}
    return {"type": "function", "name": name, "description": description, "parameters": schema}


_SYSTEM = orjson.dumps([_text(SYSTEM_PROMPT)]).decode()
_DEFINITIONS = orjson.dumps([_definition(name, *facts) for name, facts in TOOLS.items()]).decode()
