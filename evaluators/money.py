"""Recorded costs as exact decimals."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, InvalidOperation
from typing import Final

_EXACT: Final = Context(prec=2000, Emax=MAX_EMAX, Emin=MIN_EMIN)


def as_amount(value: object) -> Decimal | None:
    """A recorded cost as a finite decimal ≥ 0; None where it is missing or is none."""
    amount = as_decimal(value)
    return amount if amount is not None and amount.is_finite() and amount >= 0 else None


def as_decimal(value: object) -> Decimal | None:
    """A recorded number as a decimal, whatever its sign; None where it is missing or no number."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return Decimal(str(value))
    except (InvalidOperation, ValueError):
        return None


def exact_sum(amounts: Iterable[Decimal]) -> Decimal:
    """The sum without rounding (to 2,000 digits)."""
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    return total


def amount_text(amount: Decimal) -> str:
    """An amount in plain decimal text without trailing zeros; scientific where plain would be absurdly long."""
    plain = amount.normalize(_EXACT)
    return format(plain, "f") if -30 < plain.adjusted() < 30 else str(plain)
