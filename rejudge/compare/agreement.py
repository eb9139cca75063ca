"""Two raters: agreement beyond chance, from a square table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from math import atanh, sqrt, tanh
from typing import TypeAlias

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from rejudge.compare.means import FloatArray
from rejudge.compare.proportions import wilson
from rejudge.models.comparison import Estimate

Counts: TypeAlias = Sequence[Sequence[int]]
"""First rater in rows, second in columns."""


def cohen_kappa(counts: Counts, *, alpha: float = 0.05) -> Estimate | None:
    """Cohen's kappa with the interval of its asymptotic error (Fleiss, Cohen and Everitt 1969).

    None where both raters only ever used one and the same category: it is undefined there.
    """
    table, n = _shares(counts)
    if n == 0:
        return None
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    observed, expected = float(np.trace(table)), float(rows @ columns)
    if expected >= 1:
        return None
    kappa = (observed - expected) / (1 - expected)
    return _normal(kappa, _kappa_error(table, rows, columns, kappa, n), n, "Cohen's kappa", alpha)


def kappa_error(counts: Counts) -> float:
    """The asymptotic standard error of Cohen's kappa."""
    table, n = _shares(counts)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = float(rows @ columns)
    kappa = (float(np.trace(table)) - expected) / (1 - expected)
    return _kappa_error(table, rows, columns, kappa, n)


def gwet_ac1(counts: Counts, *, alpha: float = 0.05) -> Estimate | None:
    """Gwet's AC1 with its interval (Gwet 2008, British Journal of Mathematical and Statistical Psychology 61)."""
    table, n = _shares(counts)
    size = len(table)
    if n == 0 or size < 2:
        return None
    used = (table.sum(axis=1) + table.sum(axis=0)) / 2
    observed, expected = float(np.trace(table)), float(np.sum(used * (1 - used))) / (size - 1)
    value = (observed - expected) / (1 - expected)
    diagonal = float(np.sum(np.diag(table) * (1 - used))) / (size - 1) - observed * expected
    means = (used[:, None] + used[None, :]) / 2
    spread = float(np.sum(table * (1 - means) ** 2)) / (size - 1) ** 2 - expected**2
    variance = observed * (1 - observed) - 4 * (1 - value) * diagonal + 4 * (1 - value) ** 2 * spread
    return _normal(value, sqrt(max(0.0, variance) / n) / (1 - expected), n, "Gwet's AC1", alpha)


def adjusted_kappa(counts: Counts, *, alpha: float = 0.05) -> Estimate | None:
    """PABAK (Byrt, Bishop and Carlin 1993): agreement rescaled, its Wilson interval likewise."""
    size, n = len(counts), sum(map(sum, counts))
    if n == 0 or size < 2:
        return None
    agreed = wilson(sum(counts[index][index] for index in range(size)), n, alpha=alpha)
    low, value, high = (_rescaled(end, size) for end in (agreed.low, agreed.value, agreed.high))
    return Estimate(value=value, low=low, high=high, level=1 - alpha, method="PABAK", n=n)


def matthews(counts: Counts) -> float | None:
    """Matthews' correlation of two binary raters; None where one of them used one category only."""
    (a, b), (c, d) = counts
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    return float(a * d - b * c) / sqrt(margins) if margins else None


def pearson(first: Sequence[float], second: Sequence[float], *, alpha: float = 0.05) -> Estimate | None:
    """Pearson's correlation with Fisher's interval; None where one side never varies."""
    return _correlation(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64), "Pearson", alpha)


def spearman(first: Sequence[float], second: Sequence[float], *, alpha: float = 0.05) -> Estimate | None:
    """Spearman's correlation; its interval with the error of Bonett and Wright (2000)."""
    return _correlation(rankdata(first), rankdata(second), "Spearman", alpha)


def _correlation(first: FloatArray, second: FloatArray, method: str, alpha: float) -> Estimate | None:
    n = int(first.size)
    if n < 2 or first.std() == 0 or second.std() == 0:
        return None
    value = min(1.0, max(-1.0, float(np.corrcoef(first, second)[0, 1])))
    if n < 4 or abs(value) > 1 - 1e-12:
        return Estimate(value=value, level=1 - alpha, method=method, n=n)
    spread = 1 + value**2 / 2 if method == "Spearman" else 1.0
    half = float(ndtri(1 - alpha / 2)) * sqrt(spread / (n - 3))
    low, high = tanh(atanh(value) - half), tanh(atanh(value) + half)
    return Estimate(value=value, low=low, high=high, level=1 - alpha, method=method, n=n)


def _shares(counts: Counts) -> tuple[FloatArray, int]:
    table = np.asarray(counts, dtype=np.float64)
    n = int(table.sum())
    return (table / n if n else table), n


def _kappa_error(table: FloatArray, rows: FloatArray, columns: FloatArray, kappa: float, n: int) -> float:
    expected = float(rows @ columns)
    diagonal = float(np.sum(np.diag(table) * (1 - (rows + columns) * (1 - kappa)) ** 2))
    # A cell weighs by what its column's and row's categories were used by the other rater.
    cross = (columns[:, None] + rows[None, :]) ** 2
    off = (1 - kappa) ** 2 * float(np.sum(table * cross) - np.sum(np.diag(table) * np.diag(cross)))
    variance = diagonal + off - (kappa - expected * (1 - kappa)) ** 2
    return sqrt(max(0.0, variance) / n) / (1 - expected)


def _rescaled(agreement: float | None, size: int) -> float | None:
    return None if agreement is None else (size * agreement - 1) / (size - 1)


def _normal(value: float, error: float, n: int, method: str, alpha: float) -> Estimate:
    half = float(ndtri(1 - alpha / 2)) * error
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Estimate(value=value, low=low, high=high, level=1 - alpha, method=method, n=n)
