"""Several metrics at once: p-values adjusted so that one of many is not found by chance."""

from __future__ import annotations

from collections.abc import Sequence


def bonferroni(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given."""
    return [min(1.0, p * len(p_values)) for p in p_values]


def holm(p_values: Sequence[float]) -> list[float]:
    """Step-down adjusted p-values (Holm 1979): no false rejection among all, at any level they are held to."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = largest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Step-up adjusted p-values (Benjamini and Hochberg 1995): the share of false ones among those rejected."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index], reverse=True)
    adjusted, smallest = [0.0] * len(p_values), 1.0
    for rank, index in enumerate(order):
        smallest = min(smallest, p_values[index] * len(p_values) / (len(p_values) - rank))
        adjusted[index] = smallest
    return adjusted
