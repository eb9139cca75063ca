"""List prices, from the copy that ``genai-prices`` ships; nothing is fetched.

One price takes the library 60 µs. Below each threshold a model has one rate per kind of token, so the library is
asked for the rates once (by pricing a million of each kind) and they are multiplied here.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

_PROVIDERS: Final[dict[str, str]] = {
    "openai": "openai",
    "anthropic": "anthropic",
    "gcp.gemini": "google",
    "gcp.vertex_ai": "google",
    "gcp.gen_ai": "google",
    "aws.bedrock": "aws",
    "azure.ai.openai": "azure",
    "azure.ai.inference": "azure",
    "x_ai": "x-ai",
    "mistral_ai": "mistral",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "moonshot_ai": "moonshotai",
}
_MILLION: Final = 1_000_000


class _Rates(NamedTuple):
    """US dollars per token."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write: Decimal
    input_audio: Decimal
    output_audio: Decimal


def estimate(
    provider: str | None,
    model: str,
    when: datetime | None,
    *,
    input_tokens: int = 0,
    output_tokens: int = 0,
    cache_read_tokens: int = 0,
    cache_write_tokens: int = 0,
    input_audio_tokens: int = 0,
    output_audio_tokens: int = 0,
) -> Decimal | None:
    """What a call costs by the list, US dollars; None where the list has no such model of that provider.

    Args:
        provider: Under its name in the GenAI conventions; None lets the model's name decide.
        model: As the provider calls it.
        when: The time of the call, where prices have changed or change with the hour.
        input_tokens: With everything cached and audio in it; so is ``output_tokens``.
    """
    prices = _prices_of(provider, model)
    if prices is None:
        return None
    if not isinstance(prices, ModelPrice):
        prices = prices.get_prices(when or datetime.now(UTC))
    rates = _rates(prices, _tier(prices, input_tokens))
    plain_input = max(0, input_tokens - cache_read_tokens - cache_write_tokens - input_audio_tokens)
    plain_output = max(0, output_tokens - output_audio_tokens)
    cost = rates.input * plain_input + rates.output * plain_output
    if cache_read_tokens:
        cost += cache_read_tokens * rates.cache_read
    if cache_write_tokens:
        cost += cache_write_tokens * rates.cache_write
    if input_audio_tokens or output_audio_tokens:
        cost += input_audio_tokens * rates.input_audio + output_audio_tokens * rates.output_audio
    return cost


def _known_provider(provider: str | None) -> str | None:
    if provider is None:
        return None
    name = _PROVIDERS.get(provider, provider)
    return name if any(known.id == name for known in get_snapshot().providers) else None


@lru_cache(maxsize=1_000)
def _prices_of(provider: str | None, model: str) -> ModelPrice | ModelInfo | None:
    """As `_prices`, of a provider under its name in the GenAI conventions."""
    known = _known_provider(provider)
    return None if provider is not None and known is None else _prices(known, model)


def _prices(provider: str | None, model: str) -> ModelPrice | ModelInfo | None:
    """The one price of a model, the model itself where prices depend on the time, None for an unknown model."""
    try:
        _, found = get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        prefix, slash, rest = model.partition("/")
        return _prices(provider, rest) if slash and prefix in (provider, None) else None
    return found.prices if isinstance(found.prices, ModelPrice) else found


def _tier(prices: ModelPrice, input_tokens: int) -> int:
    """How many of the thresholds of a price a call is past; crossing one changes the rate of all its tokens."""
    thresholds = _thresholds(prices)
    return sum(input_tokens > start for start in thresholds) if thresholds else 0


_thresholds_by_price: dict[int, tuple[int, ...]] = {}
_rates_by_tier: dict[tuple[int, int], _Rates] = {}
# Keyed by identity: prices are not hashable, and those of the snapshot live as long as the process.


def _thresholds(prices: ModelPrice) -> tuple[int, ...]:
    known = _thresholds_by_price.get(id(prices))
    if known is None:
        starts = {
            tier.start for value in vars(prices).values() if isinstance(value, TieredPrices) for tier in value.tiers
        }
        known = _thresholds_by_price[id(prices)] = tuple(sorted(starts))
    return known


def _rates(prices: ModelPrice, tier: int) -> _Rates:
    known = _rates_by_tier.get((id(prices), tier))
    if known is None:
        reached = _thresholds(prices)[tier - 1] + 1 if tier else 0
        flat = ModelPrice(**{name: _flat(value, reached) for name, value in vars(prices).items()})
        known = _rates_by_tier[id(prices), tier] = _asked(flat)
    return known


def _flat(price: Decimal | TieredPrices | None, input_tokens: int) -> Decimal | None:
    if not isinstance(price, TieredPrices):
        return price
    past = [tier.price for tier in price.tiers if input_tokens > tier.start]
    return past[-1] if past else price.base


def _asked(flat: ModelPrice) -> _Rates:
    """The library's own price of a million of each kind of token."""

    def rate(**counts: int) -> Decimal:
        return flat.calc_price(Usage(**counts))["total_price"] / _MILLION

    return _Rates(
        input=rate(input_tokens=_MILLION),
        output=rate(output_tokens=_MILLION),
        cache_read=rate(input_tokens=_MILLION, cache_read_tokens=_MILLION),
        cache_write=rate(input_tokens=_MILLION, cache_write_tokens=_MILLION),
        input_audio=rate(input_tokens=_MILLION, input_audio_tokens=_MILLION),
        output_audio=rate(output_tokens=_MILLION, output_audio_tokens=_MILLION),
    )
