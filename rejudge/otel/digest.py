"""The session digest: SHA-256 over a canonical form that does not depend on order of arrival or on prices."""

from __future__ import annotations

import hashlib
from decimal import Decimal
from typing import Any

import orjson

from rejudge.otel.text import clean_value

_LEFT_OUT = ("cost_status",)


def digest_of_session(session: dict[str, Any], nodes: list[dict[str, Any]]) -> str:
    """Hex SHA-256 over the facts of a session and its nodes.

    Called before anything is estimated: a digest changes with what was recorded, never with a price list.
    """
    digest = hashlib.sha256()
    digest.update(_canonical(session))
    for facts in nodes:
        digest.update(b"\n")
        digest.update(_canonical(facts))
    return digest.hexdigest()


def _canonical(facts: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(facts, default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Something no row may hold: nested too deep, a lone surrogate, an endless integer.
        for name in ("inputs", "outputs", "attributes", "metadata"):
            if name in facts:
                facts[name] = clean_value(facts[name])
        return orjson.dumps(facts, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    raise TypeError(type(value).__name__)
