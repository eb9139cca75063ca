"""Several raters, not all of whom rated everything: Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import numpy as np

from rejudge.compare.means import FloatArray
from rejudge.models.comparison import Estimate

Level: TypeAlias = Literal["nominal", "ordinal", "interval", "ratio"]

DRAWS: Final = 1_000

_MOST: Final = 2_000_000
"""Numbers that the bootstrap may hold; beyond, no interval is given."""


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | str | None]], *, level: Level = "nominal", alpha: float = 0.05, seed: int = 0
) -> Estimate | None:
    """Krippendorff's alpha, its interval by a bootstrap of the units.

    Krippendorff (2011), "Computing Krippendorff's alpha-reliability".

    Args:
        ratings: One list a rater, one place a unit; None where that rater gave none.
        level: How far apart two values are; numbers for all but ``nominal``.
        alpha: One minus the level of the interval.
        seed: Of the bootstrap.

    Returns:
        None where fewer than two raters shared a unit or only one value was ever used. ``n`` counts the units.
    """
    values, counts = _counted(ratings)
    if len(counts) == 0 or len(values) < 2:
        return None
    rated = counts.sum(axis=1)
    places = np.array(values, dtype=np.float64) if level != "nominal" else np.arange(len(values), dtype=np.float64)
    whole = np.einsum("uv,uw,u->vw", counts, counts, 1 / (rated - 1)) - np.diag(counts.T @ (1 / (rated - 1)))
    value = _alpha(whole, places, level)
    if value is None:
        return None
    low, high = _interval(counts, rated, places, level, alpha, seed)
    return Estimate(
        value=value, low=low, high=high, level=1 - alpha, method=f"Krippendorff's alpha, {level}", n=len(counts)
    )


def _counted(ratings: Sequence[Sequence[float | str | None]]) -> tuple[list[float | str], FloatArray]:
    """The values in order, and how often each unit got each; units with one rating say nothing and are left out."""
    units = [[one for one in unit if one is not None] for unit in zip(*ratings, strict=True)]
    shared = [unit for unit in units if len(unit) > 1]
    values = sorted({one for unit in shared for one in unit}, key=lambda one: (isinstance(one, str), one))
    place = {value: index for index, value in enumerate(values)}
    counts = np.zeros((len(shared), len(values)))
    for index, unit in enumerate(shared):
        for one in unit:
            counts[index, place[one]] += 1
    return values, counts


def _alpha(coincidences: FloatArray, places: FloatArray, level: Level) -> float | None:
    used = coincidences.sum(axis=1)
    distances = _distances(used, places, level)
    expected = float(used @ distances @ used) / (float(used.sum()) - 1)
    return None if expected <= 0 else 1 - float(np.sum(coincidences * distances)) / expected


def _distances(used: FloatArray, places: FloatArray, level: Level) -> FloatArray:
    gaps = places[:, None] - places[None, :]
    if level == "nominal":
        return np.asarray(gaps != 0, dtype=np.float64)
    if level == "interval":
        return np.asarray(gaps**2)
    if level == "ratio":
        sums = places[:, None] + places[None, :]
        return np.divide(gaps, sums, out=np.zeros_like(gaps), where=sums != 0) ** 2
    ends = np.cumsum(used) - used / 2
    return np.asarray((ends[:, None] - ends[None, :]) ** 2)


def _interval(
    counts: FloatArray, rated: FloatArray, places: FloatArray, level: Level, alpha: float, seed: int
) -> tuple[float | None, float | None]:
    units, size = counts.shape
    if units < 5 or units * size * size > _MOST:
        return None, None
    each = np.einsum("uv,uw->uvw", counts, counts)
    each[:, np.arange(size), np.arange(size)] -= counts
    each = (each / (rated - 1)[:, None, None]).reshape(units, -1)
    drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), size=DRAWS)
    tables = (drawn @ each).reshape(DRAWS, size, size)
    found = [one for one in (_alpha(table, places, level) for table in tables) if one is not None]
    low, high = np.quantile(found, [alpha / 2, 1 - alpha / 2])
    return float(low), float(high)
