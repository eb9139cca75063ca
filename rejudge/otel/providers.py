"""Names of model providers, which every producer spells its own way."""

from __future__ import annotations

from typing import Any, Final

_CANONICAL: Final[dict[str, str]] = {
    "az.ai.openai": "azure.ai.openai",
    "azure": "azure.ai.openai",
    "azure_openai": "azure.ai.openai",
    "az.ai.inference": "azure.ai.inference",
    "xai": "x_ai",
    "gemini": "gcp.gemini",
    "google": "gcp.gemini",
    "google_genai": "gcp.gemini",
    "google-gla": "gcp.gemini",
    "google.generative-ai": "gcp.gemini",
    "vertex_ai": "gcp.vertex_ai",
    "vertexai": "gcp.vertex_ai",
    "google-vertex": "gcp.vertex_ai",
    "google.vertex": "gcp.vertex_ai",
    "bedrock": "aws.bedrock",
    "aws_bedrock": "aws.bedrock",
    "amazon-bedrock": "aws.bedrock",
    "mistralai": "mistral_ai",
    "mistral": "mistral_ai",
    "watsonx": "ibm.watsonx.ai",
}
_FRAMEWORKS: Final = frozenset(
    {
        "strands-agents",
        "gcp.vertex.agent",
        "langchain",
        "langgraph",
        "autogen",
        "llamaindex",
        "llama_index",
        "crewai",
        "haystack",
        "_other",
        "unknown",
        "custom",
        "agno",
        "smolagents",
        "semantic_kernel",
        "microsoft.agent_framework",
        "pydantic-ai",
        "litellm",
        "function",
        "test",
    }
)
_FAMILIES: Final = (
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("chatgpt", "openai"),
    ("text-embedding-", "openai"),
    ("claude", "anthropic"),
    ("gemini", "gcp.gemini"),
    ("mistral", "mistral_ai"),
    ("codestral", "mistral_ai"),
    ("command", "cohere"),
    ("deepseek", "deepseek"),
    ("grok", "x_ai"),
)

_known: dict[tuple[Any, Any, Any], str | None] = {}


def provider_of(provider: Any, system: Any, model: Any) -> str | None:
    """The provider of a model call, under its name in the GenAI conventions; None where nothing tells it."""
    key = (provider, system, model)
    try:
        return _known[key]
    except KeyError:
        pass
    except TypeError:
        return None
    if len(_known) > 10_000:
        _known.clear()
    found = _known[key] = _named(provider) or _named(system) or _by_model(model)
    return found


def _named(value: Any) -> str | None:
    if not isinstance(value, str) or not value:
        return None
    name = value.strip().lower()
    if name in _FRAMEWORKS:
        return None
    name = _CANONICAL.get(name, name)
    head, dot, tail = name.partition(".")
    if dot and tail in ("chat", "responses", "completion", "embedding", "messages", "image", "transcription"):
        return _CANONICAL.get(head, head)
    return name


def _by_model(model: Any) -> str | None:
    if not isinstance(model, str):
        return None
    name = model.lower().rpartition("/")[2]
    for prefix, provider in _FAMILIES:
        if name.startswith(prefix):
            return provider
    return None
