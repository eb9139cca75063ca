"""The recorded traces of ``tests/data/otlp``, with what is right about each, and sessions made of them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from rejudge.otel import Batch, Options, Recording, Refusal, assemble, read, read_bytes

DATA = Path(__file__).parent.parent / "data" / "otlp"
ANSWERS: list[dict[str, Any]] = orjson.loads((DATA / "answers.json").read_bytes())


def answer_id(answer: dict[str, Any]) -> str:
    return f"{answer['run']}:{answer['files'][0].rpartition('/')[2]}".replace(" ", "_")


def spans_of(*names: str, refused: list[Refusal] | None = None) -> Batch:
    """Everything in some files of the data folder."""
    told: list[Refusal] = [] if refused is None else refused
    return joined(read([DATA / name for name in names], refuse=told.append))


def spans_in(body: bytes, refused: list[Refusal] | None = None) -> Batch:
    """Everything in some bytes."""
    told: list[Refusal] = [] if refused is None else refused
    return joined(read_bytes(body, refuse=told.append, path="body"))


def joined(batches: Iterable[Batch]) -> Batch:
    whole = Batch()
    for batch in batches:
        whole.spans += batch.spans
        whole.logs += batch.logs
    return whole


def sessions_of(*names: str, options: Options | None = None) -> list[Recording]:
    batch = spans_of(*names)
    return assemble(batch.spans, batch.logs, options)


def digests(recordings: Iterable[Recording]) -> list[str]:
    return sorted(recording.view.session.digest for recording in recordings)


def otlp(*spans: dict[str, Any], resource: dict[str, Any] | None = None, scope: str = "test") -> dict[str, Any]:
    """An export request with some spans in their wire form."""
    attributes = [{"key": key, "value": {"stringValue": value}} for key, value in (resource or {}).items()]
    return {
        "resourceSpans": [
            {"resource": {"attributes": attributes}, "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}]}
        ]
    }


def wire_span(number: int, parent: int | None = None, trace: int = 1, **fields: Any) -> dict[str, Any]:
    """One span in its wire form; ``attributes`` may be a plain dict."""
    attributes = fields.pop("attributes", {})
    span = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": f"span {number}",
        "startTimeUnixNano": str(1_790_000_000_000_000_000 + number * 1_000_000),
        "endTimeUnixNano": str(1_790_000_000_000_000_000 + number * 1_000_000 + 500_000),
        "attributes": [{"key": key, "value": any_value(value)} for key, value in attributes.items()],
        **fields,
    }
    return span if parent is None else {**span, "parentSpanId": f"{parent:016x}"}


def any_value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(item)} for key, item in value.items()]}}
    return {"stringValue": value}


CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini", "gen_ai.provider.name": "openai"}
