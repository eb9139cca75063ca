"""Times in the spellings of the wire, as nanoseconds since the epoch; not through floats where it can be helped."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rejudge.otel.refusal import Malformed

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def nanoseconds(value: Any) -> int:
    """Nanoseconds from a number, a text of digits, or the ``{low, high}`` pair of old JavaScript SDKs; 0 for nothing.

    Raises:
        Malformed: For anything else.
    """
    if type(value) is str:
        try:
            number = int(value)
        except ValueError:
            return iso_nanoseconds(value) if value else 0
        return _in_range(number)
    if isinstance(value, int):
        return _in_range(value)
    if not value:
        return 0
    if isinstance(value, float) and value == value and abs(value) < 2**70:
        return int(value)
    if isinstance(value, dict) and isinstance(value.get("low"), int) and isinstance(value.get("high"), int):
        return int((value["high"] << 32) + (value["low"] & 0xFFFFFFFF))
    if isinstance(value, list) and len(value) == 2 and all(isinstance(part, int) for part in value):
        return int(value[0] * 1_000_000_000 + value[1])
    raise Malformed(f"no time: {str(value)[:64]!r}")


def iso_nanoseconds(text: str) -> int:
    """Nanoseconds from an ISO 8601 time; one without a zone is UTC.

    Raises:
        Malformed: For another text.
    """
    base, fraction = _split_fraction(text.strip())
    try:
        moment = datetime.fromisoformat(base)
    except ValueError:
        raise Malformed(f"no time: {text[:64]!r}") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    passed = moment - _EPOCH
    return (passed.days * 86_400 + passed.seconds) * 1_000_000_000 + passed.microseconds * 1000 + fraction


def any_nanoseconds(value: Any) -> int:
    """Nanoseconds from an ISO text, or a number whose size tells its unit (seconds, milli-, micro-, nanoseconds).

    Raises:
        Malformed: For anything else.
    """
    if value is None or value == "":
        return 0
    if isinstance(value, str):
        try:
            number: int | float = float(value) if "." in value else int(value)
        except ValueError:
            return iso_nanoseconds(value)
        value = number
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return nanoseconds(value)
    size = abs(value)
    for limit, factor in ((1e11, 1_000_000_000), (1e14, 1_000_000), (1e17, 1000)):
        if size < limit:
            return value * factor if isinstance(value, int) else round(value * factor)
    return int(value) if size < 2**70 else 0


def _in_range(number: int) -> int:
    if -(2**63) <= number < 2**64:
        return number
    raise Malformed(f"no time: {str(number)[:64]}")


def _split_fraction(text: str) -> tuple[str, int]:
    """The text without the digits that `datetime` has no room for, and their nanoseconds."""
    dot = text.find(".")
    if dot < 0:
        return text, 0
    end = dot + 1
    while end < len(text) and text[end].isdigit():
        end += 1
    digits = text[dot + 1 : end]
    if len(digits) <= 6:
        return text[: dot + 1] + digits.ljust(6, "0") + text[end:], 0
    return text[: dot + 7] + text[end:], int(digits[6:9].ljust(3, "0"))
