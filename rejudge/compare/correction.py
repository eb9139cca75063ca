"""From an evaluator's verdicts on all sessions and labels on some, what people would have said of all."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np
from scipy.special import ndtri

from rejudge.compare.means import FloatArray
from rejudge.compare.proportions import wilson
from rejudge.errors import Incomplete
from rejudge.models.calibration import CorrectedRate
from rejudge.models.comparison import Estimate


def rogan_gladen(
    judged: float,
    n: int,
    *,
    specificity: float,
    negatives: int,
    sensitivity: float,
    positives: int,
    alpha: float = 0.05,
) -> CorrectedRate:
    """The rate corrected for the evaluator's errors, its interval with the labels' uncertainty in it.

    Rogan and Gladen (1978); the interval of Lee et al., arXiv 2511.21140, sections 3 and 4.

    Args:
        judged: The share that the evaluator passed, of n sessions.
        n: Sessions judged.
        specificity: Of the labelled negatives, the share it fails.
        negatives: Labelled negatives.
        sensitivity: Of the labelled positives, the share it passes.
        positives: Labelled positives.
        alpha: One minus the level of the interval.

    Raises:
        Incomplete: Where the evaluator does no better than a coin, or one kind of label is not there.
    """
    if min(n, negatives, positives) == 0:
        raise Incomplete("the rate cannot be corrected without labels of both kinds", mend="label some of each")
    if sensitivity + specificity <= 1:
        raise Incomplete(
            f"sensitivity {sensitivity:.3g} and specificity {specificity:.3g} are no better than chance",
            mend="do not report a rate from this evaluator; mend it first",
        )
    value = (judged + specificity - 1) / (sensitivity + specificity - 1)
    low, high = _corrected_interval(judged, n, specificity, negatives, sensitivity, positives, alpha)
    return CorrectedRate(
        rate=Estimate(
            value=min(1.0, max(0.0, value)), low=low, high=high, level=1 - alpha, method="Rogan-Gladen", n=n
        ),
        judged=wilson(judged * n, n, alpha=alpha),
        labelled=negatives + positives,
        total=n,
    )


def prediction_powered(
    labels: Sequence[float],
    judged_labelled: Sequence[float],
    judged_unlabelled: Sequence[float],
    *,
    weight: float | None = None,
    alpha: float = 0.05,
) -> CorrectedRate:
    """The mean label of all sessions by PPI++ (Angelopoulos, Duchi and Zrnic, arXiv 2311.01453).

    Args:
        labels: What people said of the labelled sessions.
        judged_labelled: What the evaluator said of the same, in the same order.
        judged_unlabelled: What it said of the rest.
        weight: How much the evaluator counts; None: the weight of the least variance, held to 0 to 1.
        alpha: One minus the level of the interval.

    Raises:
        Incomplete: For fewer than two labels, or nothing unlabelled.
    """
    truth, seen, rest = (np.asarray(one, dtype=np.float64) for one in (labels, judged_labelled, judged_unlabelled))
    if truth.size < 2 or rest.size == 0:
        raise Incomplete("a rate cannot be carried over from so few labels", mend="label two sessions or more")
    trust = best_weight(truth, seen, rest) if weight is None else weight
    value = trust * float(rest.mean()) + float(np.mean(truth - trust * seen))
    variance = trust**2 * float(rest.var()) / rest.size + float(np.var(truth - trust * seen)) / truth.size
    half = float(ndtri(1 - alpha / 2)) * sqrt(variance)
    everything = np.concatenate((seen, rest))
    total = int(everything.size)
    return CorrectedRate(
        rate=Estimate(value=value, low=value - half, high=value + half, level=1 - alpha, method="PPI++", n=total),
        judged=Estimate(value=float(everything.mean()), level=1 - alpha, n=total),
        labelled=int(truth.size),
        total=total,
        weight=trust,
    )


def best_weight(labels: FloatArray, judged_labelled: FloatArray, judged_unlabelled: FloatArray) -> float:
    """The closed-form lambda of PPI++ for a mean (equation 8), held to 0 to 1."""
    spread = float(np.var(np.concatenate((judged_labelled, judged_unlabelled))))
    if spread == 0:
        return 0.0
    shared = float(np.mean((labels - labels.mean()) * (judged_labelled - judged_labelled.mean())))
    weight = shared / ((1 + labels.size / judged_unlabelled.size) * spread)
    return min(1.0, max(0.0, weight))


def _corrected_interval(
    judged: float, n: int, specificity: float, negatives: int, sensitivity: float, positives: int, alpha: float
) -> tuple[float, float]:
    """Each rate pulled a little to one half, as Agresti and Coull do, and the bias of the ratio taken off."""
    z = float(ndtri(1 - alpha / 2))
    total, fails, hits = n + z * z, negatives + 2, positives + 2
    rate = (n * judged + z * z / 2) / total
    right, found = (negatives * specificity + 1) / fails, (positives * sensitivity + 1) / hits
    power = right + found - 1
    centre = (rate + right - 1) / power
    noise = right * (1 - right) / fails, found * (1 - found) / hits
    shift = 2 * z * z * (-(1 - centre) * noise[0] + centre * noise[1])
    error = sqrt(rate * (1 - rate) / total + (1 - centre) ** 2 * noise[0] + centre**2 * noise[1]) / power
    low, high = centre + shift - z * error, centre + shift + z * error
    return min(1.0, max(0.0, low)), min(1.0, max(0.0, high))
