"""The session digest: SHA-256 over a canonical form that does not depend on order of arrival or on prices.

The form is two lines for each node, its facts in a fixed order and the JSON of its payloads, and one for the session.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final

import orjson

from rejudge.models.session import Node, PayloadBlobs
from rejudge.otel.text import clean_value

_facts_of: Final = itemgetter(*sorted(set(Node.model_fields) - Node.lazy_fields - {"cost_status"}))


class Seal:
    """The digest of a session, some nodes after the other.

    Before anything is estimated: a digest changes with what was recorded, never with a price list.
    """

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, nodes: Iterable[dict[str, Any]], blobs: Iterable[PayloadBlobs]) -> None:
        """Take in the next nodes of the session.

        Args:
            nodes: Their facts.
            blobs: The `blobs_of` each.
        """
        update = self._hash.update
        for facts, (payload, attributes) in zip(nodes, blobs, strict=True):
            update(b"".join((_dumps(_facts_of(facts)), b"\n", payload or b"", attributes or b"", b"\n")))

    def close(self, session: dict[str, Any]) -> str:
        """The digest, hex, of all nodes and the facts of their session."""
        self._hash.update(_canonical(session))
        return self._hash.hexdigest()


def blobs_of(facts: dict[str, Any]) -> PayloadBlobs:
    """The JSON of a node's payloads.

    What no row may hold (nested too deep, a lone surrogate, an endless integer) is cleaned in the facts themselves.
    """
    inputs, outputs, attributes = facts["inputs"], facts["outputs"], facts["attributes"]
    try:
        return (
            None if inputs is None and outputs is None else orjson.dumps([inputs, outputs]),
            orjson.dumps(attributes) if attributes else None,
        )
    except TypeError:
        for name in ("inputs", "outputs", "attributes"):
            facts[name] = clean_value(facts[name])
        return blobs_of(facts)


def _canonical(session: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(session, default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        for name in ("inputs", "outputs", "metadata"):
            session[name] = clean_value(session[name])
        return orjson.dumps(session, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)


def _dumps(facts: tuple[Any, ...]) -> bytes:
    try:
        return orjson.dumps(facts, default=_plain)
    except TypeError:
        return orjson.dumps(clean_value(facts), default=str)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return format(value.normalize(), "f")
    raise TypeError(type(value).__name__)
