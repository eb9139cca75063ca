"""Costs: what the trace recorded, else what the price list of ``genai-prices`` says, and which of the two it was."""

from __future__ import annotations

from typing import Any


def price(session: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    """Set cost and cost status of every model call and of the session."""
