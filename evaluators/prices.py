"""What a model call without a recorded cost would have cost, by the price list of `genai-prices`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

from rejudge.evaluators.reading import is_token_count
from rejudge.models import Node

if TYPE_CHECKING:
    from genai_prices.types import PriceCalculation

# The newest price of all, wherever a call does not say when it was made: the same answer on every day.
_LATEST: Final = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one model call, as the price list counts them."""

    input: int
    """Everything sent, cached tokens included."""
    output: int
    cached: int = 0
    """Of the input: read from a cache."""
    written: int = 0
    """Of the input: written to a cache."""


_Price: TypeAlias = Callable[[Tokens], Decimal]


def estimated_cost(node: Node) -> Decimal | None:
    """What a model call costs by the price list, cached tokens priced apart.

    Returns:
        US dollars; None where the node is no model call, its tokens are incomplete or contradict each other, or the
        price list does not know the model at that provider: unpriced, never 0.
    """
    model = node.model or node.requested_model
    if node.node_type != "llm_call" or not model:
        return None
    tokens = _tokens(node)
    if tokens is None:
        return None
    return listed_price(model, tokens, provider=node.provider or None, when=node.started_at)


def listed_price(
    model: str, tokens: Tokens, *, provider: str | None = None, when: datetime | None = None
) -> Decimal | None:
    """What so many tokens cost at a model, in US dollars; None where the price list does not know it."""
    if tokens.cached + tokens.written > tokens.input:
        return None
    price = _pricing(model, provider, None)
    if price is _BY_TIME:
        price = _pricing(model, provider, _moment(when))
    return price(tokens) if price is not None else None


def _tokens(node: Node) -> Tokens | None:
    counts = (node.input_tokens, node.output_tokens, node.cached_input_tokens or 0, node.cache_write_tokens or 0)
    if not all(is_token_count(count) for count in counts):
        return None
    return Tokens(*(count or 0 for count in counts))


def _moment(started_at: datetime | None) -> datetime:
    if started_at is None:
        return _LATEST
    return started_at if started_at.tzinfo is not None else started_at.replace(tzinfo=UTC)


def _by_time(tokens: Tokens) -> Decimal:
    raise AssertionError(f"asked the price of {tokens} at no time")


_BY_TIME: Final[_Price] = _by_time


@lru_cache(maxsize=4096)
def _pricing(model: str, provider: str | None, when: datetime | None) -> _Price | None:
    """The price of a model's calls at a moment; None = unknown; `_BY_TIME` = ask again with the moment."""
    from genai_prices.types import ModelPrice, TieredPrices

    try:
        sample = _calculation(model, provider, when or _LATEST, Tokens(0, 0))
    except (LookupError, ValueError):
        return None
    if when is None and not isinstance(sample.model.prices, ModelPrice):
        return _BY_TIME
    if any(isinstance(price, TieredPrices) for price in vars(sample.model_price).values()):
        return lru_cache(maxsize=65536)(lambda tokens: _listed(model, provider, when or _LATEST, tokens))
    return _linear(model, provider, when or _LATEST)


def _linear(model: str, provider: str | None, when: datetime) -> _Price:
    """One price per kind of token: asking the list for each call would cost twenty times as much."""

    def listed(*counts: int) -> Decimal:
        return _listed(model, provider, when, Tokens(*counts))

    call = listed(0, 0)
    sent, answered = listed(1, 0) - call, listed(0, 1) - call
    cached, written = listed(1, 0, 1) - call, listed(1, 0, 0, 1) - call

    def price(tokens: Tokens) -> Decimal:
        plain = tokens.input - tokens.cached - tokens.written
        return call + plain * sent + tokens.output * answered + tokens.cached * cached + tokens.written * written

    return price


def _listed(model: str, provider: str | None, when: datetime, tokens: Tokens) -> Decimal:
    return _calculation(model, provider, when, tokens).total_price


def _calculation(model: str, provider: str | None, when: datetime, tokens: Tokens) -> PriceCalculation:
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cache_read_tokens=tokens.cached,
        cache_write_tokens=tokens.written,
    )
    return calc_price(usage, model, provider_id=provider, genai_request_timestamp=when)
