"""Gemini CLI: GenAI names over Gemini's own shapes; each model call and tool batch is a trace of its own."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.reading import MISSING, Convention, Reading, never
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope == "gemini-cli"


def _read(span: Span, reading: Reading) -> None:
    if reading.kind == "llm":
        reading.system = reading.system or "gcp.gemini"
        tools = undo_json(reading.tool_definitions)
        if isinstance(tools, list) and tools and isinstance(tools[0], dict) and "functionDeclarations" in tools[0]:
            reading.tool_definitions = tools[0]["functionDeclarations"]
    elif reading.kind == "tool":
        call, answer = undo_json(reading.input_messages), undo_json(reading.output_messages)
        if isinstance(call, dict):
            reading.offer(arguments=call.get("args", MISSING))
        if isinstance(answer, dict):
            _read_answer(answer, reading)
        reading.input_messages = reading.output_messages = None


def _read_answer(answer: dict[str, Any], reading: Reading) -> None:
    if answer.get("status") in ("error", "cancelled"):
        reading.failed = True
    response = answer.get("response")
    if not isinstance(response, dict):
        return
    error = response.get("error")
    if isinstance(error, dict):
        reading.offer(error=error.get("message"))
    parts = response.get("responseParts")
    for part in parts if isinstance(parts, list) else []:
        inner = part.get("functionResponse") if isinstance(part, dict) else None
        if isinstance(inner, dict) and inner.get("response") is not None:
            reading.offer(result=inner["response"])
    shown = response.get("resultDisplay")
    reading.offer(result=shown if shown is not None else MISSING)


CONVENTION: Final = Convention(
    name="gemini-cli", claims=_claims, fields={}, kind=never, read=_read, sessions=("session.id",)
)
