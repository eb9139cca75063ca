"""LlamaIndex through OpenInference and OpenLLMetry: every step of a workflow is a span, its input the workflow's."""

from __future__ import annotations

from typing import Any, Final

from rejudge.otel.conventions.parts import plain_content
from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json


def _claims(scope: str, keys: frozenset[str]) -> bool:
    if ".instrumentation.llama" in scope:
        return True
    return "tool.name" in keys and "tool.arguments" in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    if "._prepare_chat" in span.name:
        return "span"  # building the request is labelled LLM, and calls no model
    # OpenLLMetry calls everything a task, the tool too.
    return "tool" if "tool.name" in span.attributes and "tool.arguments" in span.attributes else None


def _read(span: Span, reading: Reading) -> None:
    if span.parent_id is None and isinstance(reading.inputs, str) and '"is_running"' in reading.inputs:
        # The workflow's own state, and the repr of its last event: what was asked and answered is in its calls.
        reading.inputs = reading.outputs = MISSING
    if reading.kind == "tool":
        _read_output(undo_json(reading.outputs), reading)


def _read_output(output: Any, reading: Reading) -> None:
    """A ``ToolOutput``, by itself or inside the event that brings it; a tool that raised is only marked in it."""
    if isinstance(output, dict) and isinstance(output.get("tool_output"), dict):
        reading.offer(tool_call_id=output.get("tool_id"))
        output = output["tool_output"]
    if not isinstance(output, dict) or "raw_input" not in output or not isinstance(output.get("blocks"), list):
        return
    reading.offer(result=plain_content(output["blocks"]))
    if output.get("is_error") is True:
        reading.failed = True


CONVENTION: Final = Convention(name="llama-index", claims=_claims, fields={}, kind=_kind, read=_read)
