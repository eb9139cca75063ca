from __future__ import annotations

from collections.abc import Sequence

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import cohens_kappa

from rejudge.compare.agreement import (
    adjusted_kappa,
    cohen_kappa,
    gwet_ac1,
    kappa_error,
    matthews,
    pearson,
    spearman,
)
from rejudge.compare.back_test import back_test
from rejudge.compare.calibration import calibrate
from rejudge.compare.correction import best_weight, prediction_powered, rogan_gladen
from rejudge.compare.raters import Level, krippendorff_alpha
from rejudge.errors import Incomplete, UsageError
from rejudge.models.calibration import LabelledSession, Rating
from rejudge.models.comparison import Metric
from tests.compare.cohorts import row

METRIC = Metric(evaluator="tone-judge", version=2, name="tone")
TABLE = [[20, 5], [10, 15]]
SKEWED = [[80, 10], [10, 0]]
# Krippendorff (2011), four observers and twelve units.
OBSERVERS: list[list[float | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
LABELS = [int(one) for one in "1011010111"]
JUDGED = [int(one) for one in "1011110110"]
REST = [1] * 60 + [0] * 40


def sessions(pairs: Sequence[tuple[Rating, Rating | None]], **fields: str) -> list[LabelledSession]:
    """Label and verdict of so many sessions."""
    return [
        LabelledSession(session_id=f"s{index}", label=label, judged=judged, **fields)
        for index, (label, judged) in enumerate(pairs)
    ]


def spread(counts: Sequence[Sequence[int]]) -> list[tuple[Rating, Rating | None]]:
    """A two by two table as pairs."""
    kinds = [(True, True), (True, False), (False, True), (False, False)]
    return [kind for kind, count in zip(kinds, [*counts[0], *counts[1]], strict=True) for _ in range(count)]


def test_kappa_gives_the_published_figures() -> None:
    kappa = cohen_kappa(TABLE)
    assert kappa is not None
    assert kappa.value == pytest.approx(0.4)
    assert kappa_error(TABLE) == pytest.approx(0.126996, abs=5e-7)
    assert (kappa.low, kappa.high) == pytest.approx((0.151092, 0.648909), abs=2e-6)


@pytest.mark.parametrize(
    ("counts", "kappa", "ac1"), [(TABLE, 0.4, 0.405941), (SKEWED, -0.1111, 0.7561)], ids=["even", "skewed"]
)
def test_kappa_falls_where_a_category_is_rare_and_ac1_does_not(
    counts: list[list[int]], kappa: float, ac1: float
) -> None:
    chance, steady = cohen_kappa(counts), gwet_ac1(counts)
    assert chance is not None and steady is not None
    assert chance.value == pytest.approx(kappa, abs=5e-5)
    assert steady.value == pytest.approx(ac1, abs=5e-5)


def test_pabak_gives_the_published_figure() -> None:
    adjusted = adjusted_kappa(TABLE)
    assert adjusted is not None and adjusted.value == pytest.approx(0.4)


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 30), min_size=3, max_size=3), min_size=3, max_size=3))
def test_kappa_agrees_with_statsmodels(counts: list[list[int]]) -> None:
    expected, ours = cohens_kappa(np.array(counts)), cohen_kappa(counts)
    assert ours is not None
    assert ours.value == pytest.approx(expected.kappa, abs=1e-9)
    assert kappa_error(counts) == pytest.approx(expected.std_kappa, abs=1e-9)


def test_the_error_of_ac1_is_what_resampling_gives() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(400, np.array([0.55, 0.1, 0.05, 0.3]), size=2_000).reshape(-1, 2, 2)
    values = [one.value for one in (gwet_ac1(table.tolist()) for table in drawn) if one is not None]
    told = gwet_ac1([[220, 40], [20, 120]])
    assert told is not None and told.low is not None and told.high is not None
    assert (told.high - told.low) / (2 * 1.959964) == pytest.approx(np.std(values), rel=0.1)


def test_one_category_has_no_kappa() -> None:
    assert cohen_kappa([[10, 0], [0, 0]]) is None
    assert cohen_kappa([[0, 0], [0, 0]]) is None and gwet_ac1([[0, 0], [0, 0]]) is None
    assert matthews([[10, 0], [0, 0]]) is None


@pytest.mark.parametrize(
    ("level", "expected"),
    [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107), ("ratio", 0.797403)],
)
def test_krippendorff_s_own_data_give_his_alpha(level: Level, expected: float) -> None:
    told = krippendorff_alpha(OBSERVERS, level=level)
    assert told is not None and told.low is not None and told.high is not None
    assert told.value == pytest.approx(expected, abs=5e-7)
    assert told.low <= expected <= told.high and told.n == 11


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=6, max_size=6), min_size=3, max_size=3),
    st.sampled_from(["nominal", "ordinal", "interval", "ratio"]),
)
def test_alpha_agrees_with_its_package(ratings: list[list[int | None]], level: Level) -> None:
    told = krippendorff_alpha(ratings, level=level)
    if told is None:
        return
    data = np.array([[np.nan if one is None else one for one in line] for line in ratings], dtype=float)
    assert told.value == pytest.approx(krippendorff.alpha(data, level_of_measurement=level), abs=1e-9)


def test_the_corrected_rate_is_the_published_one() -> None:
    told = rogan_gladen(0.4, 1000, specificity=0.7, negatives=200, sensitivity=0.9, positives=200)
    assert told.rate.value == pytest.approx(0.166667, abs=5e-7)
    assert (told.rate.low, told.rate.high) == pytest.approx((0.056351, 0.262733), abs=5e-7)


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    with pytest.raises(Incomplete):
        rogan_gladen(0.4, 1000, specificity=0.5, negatives=200, sensitivity=0.5, positives=200)
    with pytest.raises(Incomplete):
        rogan_gladen(0.4, 1000, specificity=0.9, negatives=0, sensitivity=0.9, positives=10)


def test_prediction_powered_inference_gives_the_published_figures() -> None:
    told = prediction_powered(LABELS, JUDGED, REST, weight=1.0)
    assert told.rate.value == pytest.approx(0.6)
    assert (told.rate.low, told.rate.high) == pytest.approx((0.306659, 0.893341), abs=5e-7)
    assert best_weight(*(np.array(one, dtype=float) for one in (LABELS, JUDGED, REST))) == pytest.approx(
        0.419993, abs=5e-7
    )


def test_the_best_weight_narrows() -> None:
    best, whole = (prediction_powered(LABELS, JUDGED, REST, weight=one).rate for one in (None, 1.0))
    assert (best.high or 0) - (best.low or 0) < (whole.high or 0) - (whole.low or 0)


def test_a_binary_calibration_has_every_figure() -> None:
    told = calibrate(sessions(spread(TABLE), fingerprint="f1"), metric=METRIC, label="human_tone")
    assert (told.kind, told.n, told.fingerprint) == ("binary", 50, "f1")
    assert told.confusion is not None and told.confusion.counts == ((20, 5), (10, 15))
    assert told.confusion.labels == ("true", "false")
    assert told.sensitivity is not None and told.sensitivity.value == 0.8
    assert told.specificity is not None and told.specificity.value == 0.6
    assert told.agreement.value == 0.7 and len(told.disagreements) == 15
    assert told.mcc == pytest.approx(0.408248, abs=5e-7)


def test_disagreements_carry_both_explanations() -> None:
    told = calibrate(
        sessions([(True, False)], label_explanation="kind", judged_explanation="curt"), metric=METRIC, label="tone"
    )
    (flip,) = told.disagreements
    assert (flip.baseline, flip.replay) == ("true", "false")
    assert (flip.baseline_explanation, flip.replay_explanation) == ("kind", "curt")


def test_a_numeric_calibration_correlates() -> None:
    pairs: list[tuple[Rating, Rating | None]] = [(0.1 * index, 0.1 * index + 0.05) for index in range(10)]
    told = calibrate(sessions(pairs), metric=METRIC, label="score")
    assert told.kind == "numeric" and told.kappa is None
    assert told.pearson is not None and told.pearson.value == pytest.approx(1.0)
    assert told.mean_absolute_error is not None and told.mean_absolute_error.value == pytest.approx(0.05)
    assert told.bias is not None and told.bias.value == pytest.approx(0.05)


def test_a_nominal_calibration_has_a_confusion() -> None:
    told = calibrate(sessions([("a", "a"), ("b", "c"), ("b", "b"), ("c", "c")]), metric=METRIC, label="topic")
    assert told.confusion is not None and told.confusion.labels == ("a", "b", "c")
    assert told.sensitivity is None and told.kappa is not None


def test_the_unscored_are_counted_and_other_fingerprints_left_out() -> None:
    labelled = sessions([(True, True), (False, None), (True, False)], fingerprint="f1")
    labelled.append(LabelledSession(session_id="s9", label=True, judged=True, fingerprint="f2"))
    told = calibrate(labelled, metric=METRIC, label="tone", fingerprint="f1")
    assert (told.n, told.unscored, told.other_fingerprints) == (2, 1, 1)
    with pytest.raises(UsageError):
        calibrate(labelled, metric=METRIC, label="tone")


def test_several_people_count_by_majority_and_get_an_alpha() -> None:
    said = {"anna": [True, True, False, True], "ben": [True, False, False, True], "cleo": [True, True, False, False]}
    labelled = [
        LabelledSession(session_id=f"s{index}", label=label, judged=index != 2, author=author)
        for author, labels in said.items()
        for index, label in enumerate(labels)
    ]
    told = calibrate(labelled, metric=METRIC, label="tone")
    assert (told.n, told.agreement.value) == (4, 1.0)
    assert told.alpha is not None and told.alpha.value == pytest.approx(
        krippendorff.alpha(
            [[float(one) for one in labels] for labels in said.values()], level_of_measurement="nominal"
        )
    )


def test_corrected_rates_come_with_unlabelled_sessions() -> None:
    told = calibrate(sessions(spread(TABLE)), metric=METRIC, label="tone", unlabelled=[True] * 60 + [False] * 40)
    assert [rate.rate.method for rate in told.corrected] == ["Rogan-Gladen", "PPI++"]
    coin = calibrate(sessions(spread([[5, 5], [5, 5]])), metric=METRIC, label="tone", unlabelled=[True, False])
    assert [rate.rate.method for rate in coin.corrected] == ["PPI++"]


def test_what_cannot_be_calibrated_is_refused() -> None:
    with pytest.raises(UsageError):
        calibrate(sessions([(True, 0.5)]), metric=METRIC, label="tone")
    with pytest.raises(Incomplete):
        calibrate(sessions([(True, None)]), metric=METRIC, label="tone")


def test_correlations_know_no_constant() -> None:
    assert pearson([1, 1, 1], [1, 2, 3]) is None and spearman([1], [2]) is None
    told = spearman([1, 2, 3, 4, 5], [1, 2, 3, 5, 4])
    assert told is not None and told.value == pytest.approx(0.9) and (told.low or 0) < 0.9


def test_a_back_test_restates_the_headline() -> None:
    old = [row(index, "baseline", index < 8, evaluator="judge", version=1) for index in range(10)]
    new = [row(index, "baseline", index < 6, evaluator="judge", version=2) for index in range(9)]
    told = back_test(old, new)
    assert (told.old.key, told.new.key) == ("judge@1:result", "judge@2:result")
    assert (told.n, told.total, len(told.flips)) == (9, 10, 2)
    assert told.agreement is not None and told.agreement.value == pytest.approx(7 / 9)
    assert told.old_headline is not None and told.old_headline.value == pytest.approx(8 / 9)
    assert told.difference is not None and told.difference.value == pytest.approx(-2 / 9)


def test_a_back_test_takes_one_row_a_side() -> None:
    with pytest.raises(UsageError):
        back_test([row(0, "baseline", True)], [row(0, "baseline", True, name="other")])
    with pytest.raises(UsageError):
        back_test([], [])
    with pytest.raises(Incomplete):
        back_test([row(0, "baseline", True)], [row(1, "baseline", True)])
