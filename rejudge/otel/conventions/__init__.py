"""The conventions by which frameworks write agents into spans, best first.

A span may speak several; the first that tells a kind decides, and facts of the first that has them stay. To add one,
write a file with a `Convention` and put it into the tuple.
"""

from typing import Final

from rejudge.otel.conventions import (
    claude_code,
    codex,
    crewai,
    gemini_cli,
    genai,
    google_adk,
    haystack,
    kitaru,
    langfuse,
    langsmith,
    litellm,
    llama_index,
    microsoft,
    mlflow,
    openinference,
    openlit,
    pydantic_ai,
    rejudge,
    smolagents,
    strands,
    traceloop,
    vercel,
)
from rejudge.otel.conventions.reading import Convention

CONVENTIONS: Final[tuple[Convention, ...]] = (
    rejudge.CONVENTION,
    kitaru.CONVENTION,
    langfuse.CONVENTION,
    crewai.CONVENTION,
    llama_index.CONVENTION,
    openinference.CONVENTION,
    smolagents.CONVENTION,
    mlflow.CONVENTION,
    langsmith.CONVENTION,
    vercel.CONVENTION,
    claude_code.CONVENTION,
    gemini_cli.CONVENTION,
    haystack.CONVENTION,
    codex.CONVENTION,
    litellm.CONVENTION,
    openlit.CONVENTION,
    google_adk.CONVENTION,
    pydantic_ai.CONVENTION,
    microsoft.CONVENTION,
    strands.CONVENTION,
    genai.CONVENTION,
    traceloop.CONVENTION,
)

__all__ = ["CONVENTIONS", "Convention"]
