"""Who wrote a trace: the framework, told by the scopes of its spans."""

from __future__ import annotations

from typing import Final

from rejudge.otel.tree import Item

_PREFIXES: Final = (
    ("pydantic-ai", "pydantic-ai"),
    ("pydantic_ai", "pydantic-ai"),
    ("gcp.vertex.agent", "google-adk"),
    ("strands", "strands"),
    ("agent_framework", "agent-framework"),
    ("semantic_kernel", "semantic-kernel"),
    ("Microsoft.SemanticKernel", "semantic-kernel"),
    ("autogen", "autogen"),
    ("com.anthropic.claude_code", "claude-code"),
    ("gemini-cli", "gemini-cli"),
    ("codex", "codex"),
    ("haystack", "haystack"),
    ("ai", "vercel-ai"),
    ("gen_ai", "vercel-ai"),
    ("litellm", "litellm"),
    ("rejudge", "rejudge"),
)
_INSTRUMENTED: Final = (
    "openinference.instrumentation.",
    "opentelemetry.instrumentation.genai.",
    "opentelemetry.instrumentation.",
    "openlit.instrumentation.",
    "@arizeai/openinference-instrumentation-",
    "@traceloop/instrumentation-",
    "logfire.",
)
_NAMES: Final[dict[str, str]] = {
    "langchain": "langchain",
    "openai_agents": "openai-agents",
    "openai_agents_v2": "openai-agents",
    "crewai": "crewai",
    "llama_index": "llama-index",
    "llamaindex": "llama-index",
    "smolagents": "smolagents",
    "dspy": "dspy",
    "agno": "agno",
    "haystack": "haystack",
    "beeai": "beeai",
    "google_adk": "google-adk",
    "autogen_agentchat": "autogen",
    "autogen": "autogen",
    "pydantic_ai": "pydantic-ai",
    "agent_framework": "agent-framework",
    "strands": "strands",
    "mcp": "mcp",
    "openai": "openai",
    "openai_v2": "openai",
    "anthropic": "anthropic",
    "bedrock": "bedrock",
    "google_genai": "google-genai",
    "google_generativeai": "google-genai",
    "google_ai_studio": "google-genai",
    "vertexai": "vertexai",
    "mistralai": "mistralai",
    "groq": "groq",
    "cohere": "cohere",
    "ollama": "ollama",
    "together": "together",
    "litellm": "litellm",
}
_CONVENTIONS: Final[dict[str, str]] = {
    "langsmith": "langchain",
    "haystack": "haystack",
    "langfuse": "langfuse",
    "mlflow": "mlflow",
    "vercel": "vercel-ai",
    "pydantic-ai": "pydantic-ai",
    "traceloop": "traceloop",
}
_CLIENTS: Final = frozenset(
    {
        "logfire", "openai", "anthropic", "bedrock", "google-genai", "vertexai", "mistralai", "groq", "cohere",
        "ollama", "together", "litellm", "mcp",
    }
)  # fmt: skip


def framework_of(items: list[Item]) -> str | None:
    """The name of the framework; that of a mere client library where no span names a framework."""
    client = convention = None
    scopes: set[str] = set()
    for item in items:
        scope = item.span.scope
        if convention is None and item.reading.convention in _CONVENTIONS:
            convention = _CONVENTIONS[item.reading.convention]
        if scope in scopes:
            continue
        scopes.add(scope)
        name = framework_of_scope(scope)
        if name in _CLIENTS:
            client = client or name
        elif name is not None:
            return name
    if client == "logfire" or (client and convention == "pydantic-ai"):
        return client  # Logfire's attributes are on the spans of clients, and of the application, too
    return convention or client


def framework_of_scope(scope: str) -> str | None:
    """The framework behind one instrumentation scope."""
    if scope == "logfire":
        return "logfire"
    for prefix, name in _PREFIXES:
        if scope == prefix or (len(prefix) > 2 and scope.startswith(prefix)):
            return name
    for prefix in _INSTRUMENTED:
        if scope.startswith(prefix):
            return _NAMES.get(scope.removeprefix(prefix).split(".")[0])
    return None
