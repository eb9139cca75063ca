"""CrewAI through OpenInference and OpenLLMetry: crews, tasks and agents, all of which may claim to be agents."""

from __future__ import annotations

from typing import Final

from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.span import Span
from rejudge.otel.text import undo_json

_KINDS: Final[dict[str, Kind]] = {"workflow": "workflow", "task": "span", "agent": "agent"}


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return ".instrumentation.crewai" in scope or any(key.startswith(("crewai.", "crew_")) for key in keys)


def _kind(span: Span, reading: Reading) -> Kind | None:
    if span.name == "crewai.workflow":
        return "workflow"
    said = span.attributes.get("traceloop.span.kind")
    return _KINDS.get(said) if isinstance(said, str) else None


def _read(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    if reading.kind == "agent":
        reading.offer(agent_name=attributes.get("crewai.agent.role"))
    answer = undo_json(reading.outputs)
    if isinstance(answer, dict) and "raw" in answer and "tasks_output" in answer:
        reading.outputs = answer["raw"]
    if reading.outputs is MISSING and attributes.get("crewai.crew.result"):
        reading.outputs = attributes["crewai.crew.result"]
    given = attributes.get("crew_inputs", attributes.get("crewai.crew.inputs"))
    if given and reading.inputs is MISSING:
        reading.inputs = given


CONVENTION: Final = Convention(name="crewai", claims=_claims, fields={}, kind=_kind, read=_read)
