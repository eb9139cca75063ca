"""OpenLIT: GenAI attributes, but none at all on the span of a call that failed, which only its name tells."""

from __future__ import annotations

import re
from typing import Final

from rejudge.otel.conventions.reading import MISSING, Convention, Kind, Reading
from rejudge.otel.conventions.values import count, python_literal
from rejudge.otel.span import Span

_SCOPE: Final = "openlit.instrumentation."
_CALLS: Final[dict[str, Kind]] = {
    "chat": "llm",
    "text_completion": "llm",
    "generate_content": "llm",
    "embeddings": "embedding",
    "execute_tool": "tool",
}
_CACHE_APART: Final = frozenset({"openlit.instrumentation.anthropic"})
"""Instrumentations that pass the vendor's own count on, which leaves the cache out of the input."""

_MESSAGE: Final = re.compile(r"""content=('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*") name='""", re.DOTALL)
"""The ``repr`` of LangChain's ``ToolMessage``."""


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope.startswith(_SCOPE)


def _kind(span: Span, reading: Reading) -> Kind | None:
    if reading.operation is not None or span.status_code != 2:
        return None
    operation, _, subject = span.name.partition(" ")
    kind = _CALLS.get(operation)
    if kind == "tool":
        reading.offer(tool_name=subject or None)
    elif kind is not None:
        reading.offer(requested_model=subject or None)
    return kind


def _read(span: Span, reading: Reading) -> None:
    if reading.kind == "llm" and span.scope in _CACHE_APART:
        inputs = count(reading.input_tokens)
        if inputs is not None:
            cached, written = count(reading.cached_input_tokens), count(reading.cache_write_tokens)
            reading.input_tokens = inputs + (cached or 0) + (written or 0)
    elif reading.kind == "tool":
        if reading.arguments is not MISSING:
            reading.arguments = python_literal(reading.arguments)
        message = _MESSAGE.match(reading.result) if isinstance(reading.result, str) else None
        if message is not None:
            reading.result = python_literal(message[1])


CONVENTION: Final = Convention(name="openlit", claims=_claims, fields={}, kind=_kind, read=_read)
