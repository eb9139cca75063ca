"""Costs: what the trace recorded, else what the price list says, and for each which of the two it was.

``recorded``: the trace said it. ``estimated``: tokens times list price. ``partial``: some of it could not be priced.
``unpriced``: none could. A recorded 0 for a call that counted tokens is what producers write when they know no price,
and counts as nothing recorded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from rejudge.models.session import CostStatus


class Bill:
    """The costs of a session, some nodes after the other."""

    def __init__(self) -> None:
        self._statuses: Counter[CostStatus] = Counter()
        self._total = Decimal(0)

    def add(self, nodes: Iterable[dict[str, Any]]) -> None:
        """Set cost and cost status of nodes, given their facts, and count them in."""
        for facts in nodes:
            self._add(facts)

    def _add(self, facts: dict[str, Any]) -> None:
        if facts["node_type"] == "llm_call":
            _price_call(facts)
            status: CostStatus = facts["cost_status"]
            # A call that failed before it counted anything costs nothing that anyone could know.
            if status == "unpriced" and facts["status"] == "failed" and facts["input_tokens"] is None:
                return
            self._statuses[status] += 1
            self._total += facts["cost"] or 0
        elif facts["cost"] is not None:
            facts["cost_status"] = "recorded"
            self._total += facts["cost"]
            self._statuses["recorded"] += 1

    def close(self, session: dict[str, Any]) -> None:
        """Set cost and cost status of the session; ``recorded_cost`` is left alone."""
        session["cost_status"] = status = _status_of(self._statuses)
        session["cost"] = self._total if self._statuses and status != "unpriced" else None


def _status_of(statuses: Counter[CostStatus]) -> CostStatus | None:
    if not statuses:
        return None
    if statuses.keys() == {"unpriced"}:
        return "unpriced"
    if statuses["unpriced"] or statuses["partial"]:
        return "partial"
    return "estimated" if statuses["estimated"] else "recorded"


def _price_call(facts: dict[str, Any]) -> None:
    inputs, outputs = facts["input_tokens"], facts["output_tokens"]
    cost = facts["cost"]
    if cost is not None and (cost > 0 or not (inputs or outputs)):
        facts["cost_status"] = "recorded"
        return
    facts["cost"] = None
    if facts["model"] is None or (inputs is None and outputs is None):
        facts["cost_status"] = "unpriced"
        return
    estimate = _estimate(facts)
    facts["cost"] = estimate
    if estimate is None:
        facts["cost_status"] = "unpriced"
    else:
        facts["cost_status"] = "partial" if inputs is None or outputs is None else "estimated"


def _estimate(facts: dict[str, Any]) -> Decimal | None:
    # The price list takes half a second to load, and many imports never need it.
    from rejudge.otel.prices import estimate

    attributes = facts["attributes"]
    return estimate(
        facts["provider"],
        facts["model"],
        facts["started_at"],
        input_tokens=facts["input_tokens"] or 0,
        output_tokens=facts["output_tokens"] or 0,
        cache_read_tokens=facts["cached_input_tokens"] or 0,
        cache_write_tokens=facts["cache_write_tokens"] or 0,
        input_audio_tokens=(attributes.get("input_audio_tokens") or 0) if attributes else 0,
        output_audio_tokens=(attributes.get("output_audio_tokens") or 0) if attributes else 0,
    )
