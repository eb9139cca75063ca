"""An evaluator against labels: how far its verdicts are those of people."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rejudge.models.comparison import Estimate, Flip, Frozen, Metric

Rating: TypeAlias = bool | float | str
"""What an evaluator or a person said of one session."""

RatingKind: TypeAlias = Literal["binary", "nominal", "numeric"]


class LabelledSession(Frozen):
    """One session that an evaluator scored and a person labelled."""

    session_id: str
    judged: Rating | None = None
    """None: the evaluator could not score it."""
    label: Rating
    judged_explanation: str | None = None
    label_explanation: str | None = None
    author: str | None = None
    """Who labelled it."""
    fingerprint: str = ""
    """Of the evaluator version that judged: labels count for no other."""
    evaluation_id: str = ""
    label_id: str = ""


class Confusion(Frozen):
    """Labels in rows, the evaluator's in columns."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class CorrectedRate(Frozen):
    """What people would have said of all sessions."""

    rate: Estimate
    judged: Estimate
    """The share that the evaluator passed, uncorrected."""
    labelled: int
    total: int
    weight: float | None = None
    """PPI++: how much the evaluator's verdicts count (lambda)."""


class Calibration(Frozen):
    """How far an evaluator agrees with labels."""

    metric: Metric
    label: str
    """The label's name."""
    fingerprint: str = ""
    kind: RatingKind
    n: int
    """Labels that were compared."""
    unscored: int = 0
    """Labelled sessions that the evaluator could not score."""
    other_fingerprints: int = 0
    """Labels left out: they were compared with another fingerprint."""
    agreement: Estimate
    confusion: Confusion | None = None
    sensitivity: Estimate | None = None
    """Of those that people pass, the share it passes."""
    specificity: Estimate | None = None
    """Of those that people fail, the share it fails."""
    kappa: Estimate | None = None
    """Cohen's; None where one category was all there was."""
    ac1: Estimate | None = None
    """Gwet's: steady where one category is rare."""
    pabak: Estimate | None = None
    """Prevalence- and bias-adjusted kappa."""
    mcc: float | None = None
    """Matthews' correlation."""
    pearson: Estimate | None = None
    spearman: Estimate | None = None
    mean_absolute_error: Estimate | None = None
    bias: Estimate | None = None
    """Mean of evaluator minus label."""
    alpha: Estimate | None = None
    """Krippendorff's, among the people who labelled; None where one did."""
    corrected: tuple[CorrectedRate, ...] = ()
    """What people would have said of all sessions: by Rogan-Gladen (of the unlabelled ones), by PPI++ (of all)."""
    disagreements: tuple[Flip, ...] = ()
    """``baseline`` is the label, ``replay`` the evaluator."""


class BackTest(Frozen):
    """A new version of an evaluator against the old one, on sessions that both scored."""

    old: Metric
    new: Metric
    n: int
    total: int
    """Sessions that either scored."""
    agreement: Estimate | None
    """Of verdicts, truths, labels or texts; None for bare numbers."""
    old_headline: Estimate | None = None
    new_headline: Estimate | None = None
    """The rate or mean that each gives of the same sessions; None for labels and texts."""
    difference: Estimate | None = None
    flips: tuple[Flip, ...] = ()
    old_calibration: Calibration | None = None
    new_calibration: Calibration | None = None
