"""Calibrating an evaluator: its verdicts against what people said of the same sessions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rejudge.compare.agreement import adjusted_kappa, cohen_kappa, gwet_ac1, matthews, pearson, spearman
from rejudge.compare.correction import prediction_powered, rogan_gladen
from rejudge.compare.means import t_interval
from rejudge.compare.proportions import wilson
from rejudge.compare.raters import Level, krippendorff_alpha
from rejudge.errors import Incomplete, UsageError
from rejudge.models.calibration import (
    Calibration,
    Confusion,
    CorrectedRate,
    LabelledSession,
    Rating,
    RatingKind,
)
from rejudge.models.comparison import Estimate, Flip, Metric


@dataclass(frozen=True, slots=True)
class _Judged:
    """One session with what the evaluator and, over all who labelled it, people say."""

    session: LabelledSession
    judged: Rating
    label: Rating


def calibrate(
    labelled: Sequence[LabelledSession],
    *,
    metric: Metric,
    label: str,
    fingerprint: str | None = None,
    unlabelled: Sequence[Rating] = (),
    alpha: float = 0.05,
    seed: int = 0,
) -> Calibration:
    """How far an evaluator agrees with labels.

    A session that several people labelled counts once: by their majority, or their mean for numbers; a tie
    is left out of the comparison with the evaluator and still counts in Krippendorff's alpha.

    Args:
        labelled: Every label with what the evaluator said of its session; one entry a label.
        metric: The evaluator's row.
        label: The label's name.
        fingerprint: Only what was judged under it counts; None where all were judged under one.
        unlabelled: What the evaluator said of the sessions without a label: gives the corrected rates.
        alpha: One minus the level of every interval.
        seed: Of the bootstrap behind Krippendorff's alpha.

    Raises:
        UsageError: For ratings of different kinds, or of several fingerprints where none is named.
        Incomplete: Where no label is left to compare with.
    """
    chosen = _of_fingerprint(labelled, fingerprint)
    kind = _kind(chosen, unlabelled)
    compared = _consensus(chosen, kind)
    if not compared:
        raise Incomplete(
            f"no session has both a label {label!r} and a score of {metric.key}",
            mend="label sessions that this evaluator version has scored",
        )
    facts = {
        "metric": metric,
        "label": label,
        "fingerprint": fingerprint or next((one.fingerprint for one in chosen), ""),
        "kind": kind,
        "n": len(compared),
        "unscored": len({one.session_id for one in chosen if one.judged is None}),
        "other_fingerprints": len(labelled) - len(chosen),
        "alpha": _raters(chosen, kind, alpha=alpha, seed=seed),
        "disagreements": tuple(_disagreement(one) for one in compared if one.judged != one.label),
        "agreement": wilson(sum(one.judged == one.label for one in compared), len(compared), alpha=alpha),
    }
    if kind == "numeric":
        return Calibration.model_validate(facts | _numeric(compared, alpha=alpha))
    return Calibration.model_validate(facts | _categories(compared, kind, unlabelled, alpha=alpha))


def _of_fingerprint(labelled: Sequence[LabelledSession], fingerprint: str | None) -> list[LabelledSession]:
    found = {one.fingerprint for one in labelled if one.judged is not None}
    if fingerprint is None and len(found) > 1:
        raise UsageError(
            f"the sessions were judged under {len(found)} fingerprints",
            mend="name one: labels count for no other version of an evaluator",
        )
    return [one for one in labelled if fingerprint is None or one.judged is None or one.fingerprint == fingerprint]


def _kind(labelled: Sequence[LabelledSession], unlabelled: Sequence[Rating]) -> RatingKind:
    ratings = [*(one.label for one in labelled), *(one.judged for one in labelled), *unlabelled]
    kinds = {type(one) for one in ratings if one is not None}
    if kinds <= {bool}:
        return "binary"
    if kinds == {str}:
        return "nominal"
    if str not in kinds and bool not in kinds:
        return "numeric"
    named = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise UsageError(
        f"an evaluator and a label of different kinds cannot be compared: {named}",
        mend="label with what the evaluator gives: true or false, a number, or its labels",
    )


def _consensus(labelled: Sequence[LabelledSession], kind: RatingKind) -> list[_Judged]:
    sessions: defaultdict[str, list[LabelledSession]] = defaultdict(list)
    for one in labelled:
        sessions[one.session_id].append(one)
    compared = []
    for group in sessions.values():
        agreed = _agreed([one.label for one in group], kind)
        judged = next((one.judged for one in group if one.judged is not None), None)
        if agreed is not None and judged is not None:
            compared.append(_Judged(group[0], judged, agreed))
    return compared


def _agreed(labels: Sequence[Rating], kind: RatingKind) -> Rating | None:
    if kind == "numeric":
        return sum(float(one) for one in labels) / len(labels)
    (first, most), *others = Counter(labels).most_common()
    return None if others and others[0][1] == most else first


def _raters(labelled: Sequence[LabelledSession], kind: RatingKind, *, alpha: float, seed: int) -> Estimate | None:
    """Krippendorff's alpha among the people; None where there is one, or they shared no session."""
    authors = sorted({one.author or "" for one in labelled})
    if len(authors) < 2:
        return None
    given = {(one.author or "", one.session_id): one.label for one in labelled}
    sessions = sorted({one.session_id for one in labelled})
    ratings = [[_number(given.get((author, session))) for session in sessions] for author in authors]
    level: Level = "interval" if kind == "numeric" else "nominal"
    return krippendorff_alpha(ratings, level=level, alpha=alpha, seed=seed)


def _number(rating: Rating | None) -> float | str | None:
    return rating if rating is None or isinstance(rating, str) else float(rating)


def _numeric(compared: Sequence[_Judged], *, alpha: float) -> dict[str, object]:
    judged = [float(one.judged) for one in compared]
    labels = [float(one.label) for one in compared]
    errors = [seen - said for seen, said in zip(judged, labels, strict=True)]
    return {
        "pearson": pearson(judged, labels, alpha=alpha),
        "spearman": spearman(judged, labels, alpha=alpha),
        "mean_absolute_error": t_interval([abs(error) for error in errors], alpha=alpha),
        "bias": t_interval(errors, alpha=alpha),
    }


def _categories(
    compared: Sequence[_Judged], kind: RatingKind, unlabelled: Sequence[Rating], *, alpha: float
) -> dict[str, object]:
    labels, counts = confusion_of([(one.label, one.judged) for one in compared], binary=kind == "binary")
    facts: dict[str, object] = {
        "confusion": Confusion(labels=labels, counts=counts),
        "kappa": cohen_kappa(counts, alpha=alpha),
        "ac1": gwet_ac1(counts, alpha=alpha),
        "pabak": adjusted_kappa(counts, alpha=alpha),
    }
    if kind != "binary":
        return facts
    (hits, lost), (let_through, caught) = counts
    return facts | {
        "sensitivity": wilson(hits, hits + lost, alpha=alpha),
        "specificity": wilson(caught, let_through + caught, alpha=alpha),
        "mcc": matthews(counts),
        "corrected": corrected_rates(
            [(bool(one.label), bool(one.judged)) for one in compared], [bool(one) for one in unlabelled], alpha=alpha
        ),
    }


def confusion_of(
    pairs: Sequence[tuple[Rating, Rating]], *, binary: bool
) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """First in rows, second in columns; true before false, labels in alphabetical order."""
    kinds: list[Rating] = [True, False] if binary else sorted({one for pair in pairs for one in pair}, key=str)
    counted = Counter(pairs)
    counts = tuple(tuple(counted[first, second] for second in kinds) for first in kinds)
    return tuple(str(one).lower() if binary else str(one) for one in kinds), counts


def corrected_rates(
    labelled: Sequence[tuple[bool, bool]], unlabelled: Sequence[bool], *, alpha: float = 0.05
) -> tuple[CorrectedRate, ...]:
    """What people would have said of all sessions, both ways; those ways that refuse are left out.

    Args:
        labelled: Label and verdict of the labelled sessions.
        unlabelled: The verdicts of the rest.
    """
    if not unlabelled:
        return ()
    return tuple(
        rate for rate in (_rogan_gladen(labelled, unlabelled, alpha), _powered(labelled, unlabelled, alpha)) if rate
    )


def _rogan_gladen(
    labelled: Sequence[tuple[bool, bool]], unlabelled: Sequence[bool], alpha: float
) -> CorrectedRate | None:
    """On the unlabelled sessions alone, so that the labels stay independent of what they correct."""
    passed = [judged for label, judged in labelled if label]
    failed = [judged for label, judged in labelled if not label]
    if not passed or not failed:
        return None
    try:
        return rogan_gladen(
            sum(unlabelled) / len(unlabelled),
            len(unlabelled),
            specificity=1 - sum(failed) / len(failed),
            negatives=len(failed),
            sensitivity=sum(passed) / len(passed),
            positives=len(passed),
            alpha=alpha,
        )
    except Incomplete:
        return None


def _powered(labelled: Sequence[tuple[bool, bool]], unlabelled: Sequence[bool], alpha: float) -> CorrectedRate | None:
    try:
        return prediction_powered(
            [float(label) for label, _ in labelled],
            [float(judged) for _, judged in labelled],
            [float(judged) for judged in unlabelled],
            alpha=alpha,
        )
    except Incomplete:
        return None


def _disagreement(one: _Judged) -> Flip:
    kind = "changed" if not isinstance(one.label, bool) else "worse" if one.judged else "better"
    return Flip.model_validate(
        {
            "member": one.session.session_id,
            "kind": kind,
            "baseline": _said(one.label),
            "replay": _said(one.judged),
            "baseline_explanation": one.session.label_explanation,
            "replay_explanation": one.session.judged_explanation,
            "baseline_session": one.session.session_id,
            "replay_session": one.session.session_id,
            "baseline_evaluation": one.session.label_id,
            "replay_evaluation": one.session.evaluation_id,
        }
    )


def _said(rating: Rating) -> str:
    if isinstance(rating, bool):
        return "true" if rating else "false"
    return rating if isinstance(rating, str) else f"{rating:.6g}"
