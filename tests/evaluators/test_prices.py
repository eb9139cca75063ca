"""Estimates against the price list itself."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from genai_prices import Usage, calc_price

from rejudge.evaluators.prices import estimated_cost
from rejudge.models import Node

MODELS = {
    "one price": ("openai", "gpt-4o-2024-08-06"),
    "dearer above a length": ("google", "gemini-2.5-pro"),
    "cache writes": ("anthropic", "claude-sonnet-4-5"),
    "by the hour": ("deepseek", "deepseek-chat"),
}
TOKENS = {
    "plain": (1000, 100, 0, 0),
    "cached": (1000, 100, 400, 0),
    "written": (1000, 100, 400, 300),
    "long": (300_000, 5_000, 250_000, 0),
    "nothing": (0, 0, 0, 0),
}


@pytest.mark.parametrize("tokens", TOKENS.values(), ids=TOKENS.keys())
@pytest.mark.parametrize(("provider", "model"), MODELS.values(), ids=MODELS.keys())
def test_an_estimate_is_what_the_list_says(provider: str, model: str, tokens: tuple[int, int, int, int]) -> None:
    sent, answered, cached, written = tokens
    when = datetime(2025, 5, 1, 18, tzinfo=UTC)
    node = Node(
        id="n",
        index=0,
        node_type="llm_call",
        model=model,
        provider=provider,
        started_at=when,
        input_tokens=sent,
        output_tokens=answered,
        cached_input_tokens=cached,
        cache_write_tokens=written,
    )
    usage = Usage(input_tokens=sent, output_tokens=answered, cache_read_tokens=cached, cache_write_tokens=written)

    listed = calc_price(usage, model, provider_id=provider, genai_request_timestamp=when)

    assert estimated_cost(node) == listed.total_price
