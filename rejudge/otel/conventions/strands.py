"""AWS Strands Agents: GenAI with the framework's name as system, content in span events, ``tool.status``."""

from __future__ import annotations

from typing import Final

from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.span import Span


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope.startswith("strands") or "event_loop.cycle_id" in keys or "gen_ai.agent.tools" in keys


def _kind(span: Span, reading: Reading) -> Kind | None:
    if reading.operation is None and span.name.startswith("invoke_swarm"):
        return "workflow"
    return None


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    status = attributes.get("gen_ai.tool.status", attributes.get("tool.status"))
    if status is not None and reading.kind == "tool":
        reading.failed = status == "error"
    if reading.system_instructions is None:
        reading.system_instructions = attributes.get("system_prompt")


CONVENTION: Final = Convention(name="strands", claims=_claims, fields={}, kind=_kind, read=_read)
