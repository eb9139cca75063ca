"""Token arithmetic: what includes what depends on who counted, and on the name the count was given.

Stored: input with everything cached, output with everything reasoned, and both as sub-counts.
"""

from __future__ import annotations

from typing import Any

from rejudge.otel.conventions.reading import Reading
from rejudge.otel.conventions.values import count


def read_usage(usage: dict[str, Any], reading: Reading) -> None:
    """Give a reading the counts of a usage object as OpenAI, Anthropic, Google, LangChain or Langfuse write it."""
    if "prompt_tokens" in usage or "completion_tokens" in usage:
        _openai(usage, reading)
    elif "promptTokenCount" in usage or "candidatesTokenCount" in usage or "prompt_token_count" in usage:
        _google(usage, reading)
    elif "input_tokens" in usage or "output_tokens" in usage:
        _input_output(usage, reading)
    elif "inputTokens" in usage or "outputTokens" in usage:
        _camel(usage, reading)
    elif "promptTokens" in usage or "completionTokens" in usage:
        reading.offer(
            input_tokens=count(usage.get("promptTokens")), output_tokens=count(usage.get("completionTokens"))
        )
    elif any(key.startswith(("input", "output")) for key in usage):
        read_disjoint_usage(usage, reading)


def read_disjoint_usage(usage: dict[str, Any], reading: Reading) -> None:
    """Counts as Langfuse keeps them: all that have ``input`` in their name are parts that add up; ``output`` too."""
    inputs = {key: number for key, value in usage.items() if "input" in key if (number := count(value)) is not None}
    outputs = {key: number for key, value in usage.items() if "output" in key if (number := count(value)) is not None}
    if not any(inputs.values()) and not any(outputs.values()):
        return  # nothing but zeros: what Langfuse stores when nobody counted
    reading.offer(
        input_tokens=sum(inputs.values()) if inputs else None,
        output_tokens=sum(outputs.values()) if outputs else None,
        cached_input_tokens=_first(
            inputs, "input_cache_read", "input_cached_tokens", "input_cached", "cache_read_input_tokens"
        ),
        cache_write_tokens=_first(inputs, "input_cache_creation", "input_cache_write", "cache_creation_input_tokens"),
        reasoning_tokens=_first(outputs, "output_reasoning", "output_reasoning_tokens"),
    )


def _openai(usage: dict[str, Any], reading: Reading) -> None:
    inputs = _object(usage, "prompt_tokens_details", "input_tokens_details")
    outputs = _object(usage, "completion_tokens_details", "output_tokens_details")
    reading.offer(
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_input_tokens=_first(inputs, "cached_tokens")
        or count(usage.get("prompt_tokens_details.cached_tokens")),
        reasoning_tokens=_first(outputs, "reasoning_tokens")
        or count(usage.get("completion_tokens_details.reasoning_tokens")),
    )


def _google(usage: dict[str, Any], reading: Reading) -> None:
    thoughts = _first(usage, "thoughtsTokenCount", "thoughts_token_count")
    output = _first(usage, "candidatesTokenCount", "candidates_token_count")
    reading.offer(
        input_tokens=_first(usage, "promptTokenCount", "prompt_token_count"),
        output_tokens=output + (thoughts or 0) if output is not None else thoughts,
        cached_input_tokens=_first(usage, "cachedContentTokenCount", "cached_content_token_count"),
        reasoning_tokens=thoughts,
    )


def _input_output(usage: dict[str, Any], reading: Reading) -> None:
    """Anthropic's own counts leave the cache out; LangChain's and OpenAI's under the same names have it in."""
    inputs = _object(usage, "input_token_details", "input_tokens_details")
    outputs = _object(usage, "output_token_details", "output_tokens_details")
    cached = _first(inputs, "cache_read", "cached_tokens")
    written = _first(inputs, "cache_creation", "cache_write_tokens")
    total = count(usage.get("input_tokens"))
    if cached is None and "cache_read_input_tokens" in usage:
        cached, written = count(usage["cache_read_input_tokens"]), count(usage.get("cache_creation_input_tokens"))
        if total is not None and "total_tokens" not in usage:
            total += (cached or 0) + (written or 0)
    reading.offer(
        input_tokens=total,
        output_tokens=count(usage.get("output_tokens")),
        cached_input_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=_first(outputs, "reasoning", "reasoning_tokens"),
    )


def _camel(usage: dict[str, Any], reading: Reading) -> None:
    reading.offer(
        input_tokens=count(usage.get("inputTokens")),
        output_tokens=count(usage.get("outputTokens")),
        cached_input_tokens=_first(usage, "cachedInputTokens", "cacheReadInputTokens"),
        cache_write_tokens=_first(usage, "cacheWriteInputTokens"),
        reasoning_tokens=_first(usage, "reasoningTokens"),
    )


def _object(usage: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        value = usage.get(name)
        if isinstance(value, dict):
            return value
    return {}


def _first(counts: dict[str, Any], *names: str) -> int | None:
    for name in names:
        number = count(counts.get(name))
        if number is not None:
            return number
    return None
