"""Plain values as OTLP/JSON writes them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rejudge.otel.text import as_text, clean_text

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


def attributes_of(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    """An attribute list; what is None is left out."""
    return [
        {"key": clean_text(name), "value": any_value(value)} for name, value in values.items() if value is not None
    ]


def any_value(value: Any) -> dict[str, Any]:
    """An ``AnyValue``: whole numbers as text, as the protocol's JSON wants them."""
    if value is None:
        return {}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"stringValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else str(value)}
    if isinstance(value, Mapping):
        return {
            "kvlistValue": {"values": [{"key": clean_text(str(k)), "value": any_value(v)} for k, v in value.items()]}
        }
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    return {"stringValue": clean_text(str(value))}


def json_text(value: Any) -> str:
    """Compact JSON of a value: how attributes hold what backends read as structure."""
    return as_text(value)


def nanoseconds(moment: datetime | None) -> str:
    """Nanoseconds since the epoch as text; 0 for no time."""
    if moment is None:
        return "0"
    return str((moment - _EPOCH) // _MICROSECOND * 1000)
