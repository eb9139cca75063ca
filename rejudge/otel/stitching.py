"""Turns of one conversation whose session id never reached the wire, told by their history.

A later trace belongs to an earlier one where the messages of its first model call begin with the whole history of the
earlier one's last call. Off unless asked for: two users who say the same would be taken for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from rejudge.otel.assembly import items_of
from rejudge.otel.facts import messages_after, messages_before
from rejudge.otel.grouping import Group


class _Turn(NamedTuple):
    """What stitching needs to know of one trace."""

    source: str
    trace_id: str
    start_ns: int
    prefixes: frozenset[int]
    """Hashes of every beginning of its first call's messages."""
    history: int
    """Hash of its last call's messages and answer."""


def stitches(groups: Iterable[Group]) -> dict[str, tuple[str, str]]:
    """For each trace without an id of its own that continues another: source and id of the first of its chain."""
    turns = sorted((turn for group in groups if not group.is_named for turn in _turn(group)), key=_started)
    latest: dict[tuple[str, int], tuple[str, str]] = {}
    found: dict[str, tuple[str, str]] = {}
    for turn in turns:
        key = (turn.source, turn.trace_id)
        for prefix in turn.prefixes:
            earlier = latest.pop((turn.source, prefix), None)
            if earlier is not None:
                key = earlier
                break
        found[turn.trace_id] = key
        latest[turn.source, turn.history] = key
    chained = {key for trace_id, key in found.items() if key[1] != trace_id}
    return {trace_id: key for trace_id, key in found.items() if key in chained}


def _started(turn: _Turn) -> tuple[int, str]:
    return turn.start_ns, turn.trace_id


def _turn(group: Group) -> Iterator[_Turn]:
    calls = [item for item in items_of(group) if item.kind == "llm" and not item.elided]
    if not calls:
        return
    first = [_fingerprint(message) for message in messages_before(calls[0].reading)]
    last = calls[-1].reading
    history = [_fingerprint(message) for message in (*messages_before(last), *messages_after(last))]
    prefixes = frozenset(hash(tuple(first[:size])) for size in range(2, len(first)))
    (trace_id,) = group.trace_ids
    yield _Turn(group.source, trace_id, calls[0].span.start_ns, prefixes, hash(tuple(history)))


def _fingerprint(message: dict[str, Any]) -> int:
    """What was said by whom; how it ended is not repeated in a history."""
    said = [message.get("role"), message.get("parts")]
    try:
        return hash(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))
    except TypeError:
        return hash(repr(said))
