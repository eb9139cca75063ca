"""Semantic Kernel, Agent Framework and AutoGen: GenAI with habits of their own."""

from __future__ import annotations

from typing import Final

from rejudge.otel.conventions.reading import Convention, Kind, Reading
from rejudge.otel.span import Span

_SCOPES: Final = (
    "semantic_kernel",
    "agent_framework",
    "autogen",
    "Microsoft.SemanticKernel",
    "Experimental.Microsoft",
)


def _claims(scope: str, keys: frozenset[str]) -> bool:
    return scope.startswith(_SCOPES)


def _kind(span: Span, reading: Reading) -> Kind | None:
    if reading.operation is not None:
        # .NET: "chat.completions", "text.completions"
        if isinstance(reading.operation, str) and reading.operation.endswith(".completions"):
            return "llm"
        return None
    if span.name.startswith("chat.completions") or span.name.startswith("text.completions"):
        return "llm"
    return "span"


def _read(span: Span, reading: Reading) -> None:
    reason = reading.finish_reasons
    if isinstance(reason, str) and reason.startswith("FinishReason."):
        reading.finish_reasons = reason.removeprefix("FinishReason.").lower()


CONVENTION: Final = Convention(
    name="microsoft",
    claims=_claims,
    fields={},
    kind=_kind,
    read=_read,
    sessions=("gen_ai.conversation.id", "agent_framework.session.id", "agent_framework.thread.id"),
)
