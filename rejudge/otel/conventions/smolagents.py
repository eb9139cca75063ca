"""Hugging Face smolagents through OpenInference: the task inside the run's arguments, steps streamed as ``repr``."""

from __future__ import annotations

from typing import Final

from rejudge.otel.conventions.reading import MISSING, Convention, Reading, never
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

_FINAL: Final = "FinalAnswerStep(output="


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return ".instrumentation.smolagents" in scope or "smolagents.max_steps" in keys


def _read(span: Span, reading: Reading) -> None:
    if reading.kind != "agent":
        return
    reading.offer(agent_name=span.name.removesuffix(".run"))
    given = undo_json(reading.inputs)
    if isinstance(given, dict) and "task" in given:
        reading.inputs = given["task"]
    if isinstance(reading.outputs, str) and _FINAL in reading.outputs:
        reading.outputs = MISSING  # the streamed steps; the final answer is a tool call of its own


CONVENTION: Final = Convention(name="smolagents", claims=_claims, fields={}, kind=never, read=_read)
