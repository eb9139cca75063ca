from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejudge.compare import compare
from rejudge.compare.noise import noise_floor, with_noise
from rejudge.errors import UsageError
from rejudge.models.comparison import Comparison, Estimate, Figure, Member, Metric, MetricComparison, Run
from tests.compare.cohorts import compared, member, row, rows

BOOLS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=30)
FLOATS = st.lists(
    st.tuples(st.integers(0, 10), st.integers(0, 10)).map(lambda pair: (pair[0] / 10, pair[1] / 10)),
    min_size=2,
    max_size=30,
)
MIRROR = {"improved": "regressed", "regressed": "improved"}


def only(comparison: Comparison) -> MetricComparison:
    (metric,) = comparison.metrics
    return metric


def score(comparison: Comparison) -> Figure:
    figure = only(comparison).score
    assert figure is not None
    return figure


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low, estimate.high


def test_a_rate_is_compared_pair_by_pair() -> None:
    comparison = compared([True] * 20, [False] * 12 + [True] * 8, direction="higher")
    metric, figure = only(comparison), score(comparison)
    assert (metric.kind, figure.statistic, figure.n) == ("rate", "rate of true", 20)
    assert (figure.baseline.value, figure.replay.value, figure.difference.value) == (1.0, 0.4, -0.6)
    assert figure.difference.method == "Newcombe paired"
    assert figure.tests[0].method == "McNemar exact"
    assert metric.verdict.word == "regressed" and len(metric.flips) == 12


def test_few_numbers_get_t_and_many_the_bootstrap() -> None:
    few = score(compared([0.1 * index for index in range(14)], [0.1] * 14))
    many = score(compared([0.1 * index for index in range(15)], [0.1] * 15))
    assert (few.difference.method, many.difference.method) == ("t", "BCa bootstrap")


def test_the_bounds_of_what_is_missing_are_the_published_ones() -> None:
    observations = rows([0.8] * 40, [0.8] * 40, min_score=0.0, max_score=1.0)
    observations += [row(index, "baseline", 0.8, min_score=0.0, max_score=1.0) for index in range(40, 50)]
    figure = score(compare(observations, [member(index) for index in range(50)]))
    assert (figure.coverage.scored, figure.coverage.total) == (40, 50)
    assert (figure.bounds.replay_low, figure.bounds.replay_high) == pytest.approx((0.64, 0.84))
    assert (figure.bounds.difference_low, figure.bounds.difference_high) == pytest.approx((-0.2, 0.2))
    assert figure.coverage.imbalance is not None
    assert figure.coverage.imbalance.p_value == pytest.approx(2 * 0.5**10)


@pytest.mark.parametrize(
    ("run", "end", "reason"),
    [
        (Run(status="failed", reason="the tape missed refund"), None, "replay failed: the tape missed refund"),
        (Run(status="timed_out"), None, "replay timed out"),
        (Run(status="not_run"), None, "replay not run"),
        (Run(), {"name": "", "status": "timed_out", "data_type": "unscored"}, "timed out"),
        (
            Run(),
            {"name": "", "status": "failed", "data_type": "unscored", "unscored": "KeyError"},
            "failed: KeyError",
        ),
        (Run(), {}, "unscored: no output"),
        (Run(), None, "no scoring of it was found"),
    ],
    ids=["failed", "timed-out", "not-run", "scoring-timed-out", "scoring-failed", "unscored", "no-row"],
)
def test_what_is_missing_is_named_and_counted(run: Run, end: dict[str, str] | None, reason: str) -> None:
    observations = [*rows([True] * 3, [True] * 3), row(3, "baseline", True)]
    if end is not None:
        observations.append(row(3, "replay", None, **({"unscored": None} if end else {}) | end))
    members = [*(member(index) for index in range(3)), Member(id="s3", runs=(run,))]
    metric = only(compare(observations, members))
    assert [(one.member, one.side, one.reason) for one in metric.missing] == [("s3", "replay", reason)]
    assert (metric.coverage.scored, metric.coverage.total) == (3, 4)
    assert len(metric.pairs) == 4


def test_a_score_of_a_failed_replay_does_not_count() -> None:
    members = [member(0), Member(id="s1", runs=(Run(status="crashed", session_id="r1t1"),))]
    metric = only(compare(rows([True, True], [True, False]), members))
    assert metric.coverage.scored == 1 and metric.flips == ()


def test_an_evaluator_that_never_gave_a_row_is_still_compared() -> None:
    end = {"name": "", "status": "crashed", "data_type": "unscored", "unscored": "exit 137"}
    observations = [row(0, side, None, **end) for side in ("baseline", "replay")]
    metric = only(compare(observations, [member(0)]))
    assert metric.metric.key == "check@1"
    assert (metric.verdict.word, metric.coverage.scored, metric.coverage.total) == ("inconclusive", 0, 1)
    assert {one.reason for one in metric.missing} == {"crashed: exit 137"}


def test_missing_members_withhold_a_verdict_that_they_could_have_changed() -> None:
    full = compared([True] * 12, [False] * 6 + [True] * 6, direction="higher")
    observations = rows([True] * 12, [False] * 6 + [True] * 6, direction="higher")
    partial = compare(observations, [member(index) for index in range(30)])
    assert only(full).verdict.word == "regressed"
    assert only(partial).verdict.word == "inconclusive"
    assert only(partial).verdict.observed == "regressed"


def test_a_verdict_stands_that_no_missing_member_could_have_changed() -> None:
    observations = rows([True] * 30, [False] * 30, direction="higher")
    verdict = only(compare(observations, [member(index) for index in range(31)])).verdict
    assert verdict.word == "regressed" and "whatever" in verdict.reason


@pytest.mark.parametrize(
    ("baseline", "replay", "direction", "margin", "word"),
    [
        ([1.0, 1.1, 1.2, 1.0], [2.0, 2.2, 2.1, 2.0], "higher", 0.0, "improved"),
        ([1.0, 1.1, 1.2, 1.0], [2.0, 2.2, 2.1, 2.0], "lower", 0.0, "regressed"),
        ([1.0, 1.1, 1.2, 1.0], [2.0, 2.2, 2.1, 2.0], "none", 0.0, "changed"),
        ([1.0, 1.1, 1.2, 1.0], [2.0, 2.2, 2.1, 2.0], "higher", 2.0, "equivalent"),
        ([1.0, 1.1, 1.2, 1.0], [2.0, 2.2, 2.1, 2.0], "none", 2.0, "unchanged"),
        ([1.0, 1.1, 1.2, 1.0], [1.0, 1.2, 1.1, 1.0], "higher", 0.0, "inconclusive"),
        ([1.0, 1.1, 1.2, 1.0], [1.0, 1.1, 1.2, 1.0], "higher", 0.0, "inconclusive"),
        ([1.0, 1.1, 1.2, 1.0], [1.0, 1.1, 1.2, 1.0], "none", 0.0, "unchanged"),
        ([1.0, 1.0], [2.0, 2.0], "higher", 0.0, "inconclusive"),
        ([1.0] * 6, [2.0] * 6, "higher", 0.0, "improved"),
        ([1.0] * 6, [1.0] * 6, "higher", 0.1, "equivalent"),
        ([1.0], [2.0], "higher", 0.0, "inconclusive"),
        (["a", "b"], ["a", "c"], "none", 0.0, "changed"),
        (["a", "b"], ["a", "b"], "none", 0.0, "unchanged"),
        ([None, None], [1.0, 2.0], "higher", 0.0, "inconclusive"),
    ],
)  # fmt: skip
def test_verdicts(baseline: list[float], replay: list[float], direction: str, margin: float, word: str) -> None:
    verdict = only(compared(baseline, replay, direction=direction, options={"margin": margin})).verdict
    assert verdict.word == word and verdict.reason


def test_an_inconclusive_verdict_says_what_it_would_take() -> None:
    figure = score(compared([True, False, True, True] * 5, [True, True, False, True] * 4 + [True] * 4))
    assert figure.power is not None
    assert (figure.power.minimum_detectable_effect or 0) > 0 and (figure.power.more_sessions or 0) > 0


def test_a_pass_rate_points_up_whatever_the_score_does() -> None:
    observations = [
        row(index, side, 0.5, passed=side == "baseline", direction="lower")
        for index in range(10)
        for side in ("baseline", "replay")
    ]
    metric = only(compare(observations, [member(index) for index in range(10)]))
    assert metric.pass_rate is not None and metric.pass_rate.direction == "higher"
    assert metric.pass_rate.verdict.word == metric.verdict.word == "regressed"
    assert metric.score is not None and metric.score.verdict.word == "inconclusive"


def test_a_held_back_verdict_is_missing_from_the_pass_rate_alone() -> None:
    observations = rows([True] * 4, [True] * 4, passed=True)
    observations[5] = observations[5].model_copy(update={"passed": None})
    metric = only(compare(observations, [member(index) for index in range(4)]))
    assert metric.pass_rate is not None and metric.score is not None
    assert (metric.pass_rate.coverage.scored, metric.score.coverage.scored) == (3, 4)


def test_trials_are_averaged_and_the_member_is_the_unit() -> None:
    observations = [row(index, "baseline", True) for index in range(3)]
    for index in range(3):
        observations += [row(index, "replay", trial <= 2, trial=trial) for trial in range(1, 5)]
    metric = only(compare(observations, [member(index, trials=4) for index in range(3)]))
    assert metric.score is not None
    assert (metric.score.n, metric.score.replay.value) == (3, 0.5)
    assert [round(rate.all_of_k, 4) for rate in metric.trials] == [0.5, 0.1667, 0.0, 0.0]
    assert len(metric.flips) == 6


def test_a_lost_trial_is_named_and_bounded() -> None:
    observations = [row(0, "baseline", True), row(1, "baseline", True), row(0, "replay", True, trial=1)]
    observations += [row(1, "replay", True, trial=trial) for trial in (1, 2)]
    runs = (Run(trial=1), Run(trial=2, status="crashed"))
    metric = only(compare(observations, [Member(id="s0", runs=runs), member(1, trials=2)]))
    assert [(one.member, one.trial) for one in metric.missing] == [("s0", 2)]
    assert metric.score is not None and metric.score.coverage.scored == 2
    assert (metric.score.bounds.replay_low, metric.score.bounds.replay_high) == (0.75, 1.0)
    assert not metric.coverage.complete


def test_labels_get_transitions_and_a_test() -> None:
    observations = [row(index, "baseline", "ok") for index in range(8)]
    observations += [row(index, "replay", "ok" if index < 2 else "escalated") for index in range(8)]
    observations = [one.model_copy(update={"data_type": "categorical", "score": 1.0}) for one in observations]
    metric = only(compare(observations, [member(index) for index in range(8)]))
    assert metric.transitions is not None
    assert metric.transitions.labels == ("escalated", "ok")
    assert metric.transitions.counts == ((0, 0), (6, 2))
    assert metric.verdict.word == "changed" and metric.changed is not None and metric.changed.value == 0.75


def test_clusters_widen_and_count_as_the_units() -> None:
    baseline, replay = [0.2, 0.3, 0.1, 0.5, 0.4, 0.2], [0.4, 0.6, 0.3, 0.4, 0.5, 0.2]
    lone = score(compared(baseline, replay))
    clustered = score(compared(baseline, replay, clusters=["a", "a", "a", "b", "b", "c"]))
    assert clustered.difference.method == "cluster-robust t"
    assert clustered.tests[0].method.endswith("by cluster")
    assert lone.difference.value == clustered.difference.value


@pytest.mark.parametrize("gates", [True, False], ids=["holm", "benjamini-hochberg"])
def test_p_values_are_adjusted_within_their_family(gates: bool) -> None:
    observations = [
        one
        for index, lost in enumerate((10, 6, 0))
        for one in rows([True] * 12, [False] * lost + [True] * (12 - lost), name=f"m{index}", direction="higher")
    ]
    keys = ["check@1:m0", "check@1:m1", "check@1:m2"]
    comparison = compare(observations, [member(index) for index in range(12)], gating=keys if gates else ())
    figures = [metric.score for metric in comparison.metrics if metric.score is not None]
    assert {figure.adjustment for figure in figures} == {"holm" if gates else "benjamini-hochberg"}
    factor = 2 if gates else 1.5
    assert figures[1].adjusted_p == pytest.approx((figures[1].p_value or 0) * factor)


def test_a_margin_can_be_a_metric_s_own() -> None:
    observations = [one for name in ("a", "b") for one in rows([1.0, 1.1, 1.2], [1.0, 1.2, 1.1], name=name)]
    comparison = compare(observations, [member(index) for index in range(3)], margins={"check@1:b": 0.5})
    assert [metric.verdict.margin for metric in comparison.metrics] == [0.0, 0.5]


def test_params_make_a_metric_of_their_own() -> None:
    observations = rows([True], [True]) + rows([True], [False], params_digest="abcdef0123456789")
    comparison = compare(observations, [member(0)])
    assert [metric.metric.key for metric in comparison.metrics] == ["check@1#abcdef01:result", "check@1:result"]
    assert comparison.metric("check@1:result") is not None
    lone = compare(rows([True], [True], params_digest="abcdef0123456789"), [member(0)])
    assert lone.metric("check@1:result") is not None and lone.metric("check@2:result") is None


def test_empty_params_are_no_params() -> None:
    plain = Metric(evaluator="a", version=1, name="b")
    empty = plain.model_copy(
        update={"params_digest": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"}
    )
    assert empty.key == plain.key == "a@1:b"


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: compare(rows([True], [True]), []),
        lambda: compare(rows([True], [True]) * 2, [member(0)]),
        lambda: compare([], [member(0), member(0)]),
        lambda: compare([], [], alpha=1.5),
        lambda: compare([], [], margin=-1),
    ],
    ids=["stranger", "two-rows", "two-members", "alpha", "margin"],
)
def test_what_cannot_be_compared_is_refused_with_a_mend(mistake: object) -> None:
    with pytest.raises(UsageError) as caught:
        mistake()  # type: ignore[operator]
    assert caught.value.mend


@settings(max_examples=30, deadline=None)
@given(st.one_of(BOOLS, FLOATS), st.randoms(use_true_random=False))
def test_the_order_of_members_changes_nothing(pairs: list[tuple[float, float]], order: random.Random) -> None:
    observations = rows([one for one, _ in pairs], [one for _, one in pairs])
    members = [member(index) for index in range(len(pairs))]
    first = only(compare(observations, members))
    order.shuffle(members)
    order.shuffle(observations)
    second = only(compare(observations, members))
    assert first.verdict == second.verdict
    assert first.score is not None and second.score is not None
    assert first.score.difference.value == pytest.approx(second.score.difference.value, abs=1e-12)
    assert ends(first.score.difference) == pytest.approx(ends(second.score.difference), abs=1e-9)
    assert [test.p_value for test in first.score.tests] == pytest.approx([t.p_value for t in second.score.tests])


@settings(max_examples=30, deadline=None)
@given(st.one_of(BOOLS, FLOATS), st.sampled_from([0.0, 0.1]))
def test_swapping_sides_mirrors_the_verdict(pairs: list[tuple[float, float]], margin: float) -> None:
    options = {"margin": margin}
    there = score(compared([one for one, _ in pairs], [one for _, one in pairs], direction="higher", options=options))
    back = score(compared([one for _, one in pairs], [one for one, _ in pairs], direction="higher", options=options))
    assert back.verdict.word == MIRROR.get(there.verdict.word, there.verdict.word)
    assert there.p_value == pytest.approx(back.p_value)
    if sorted(b - a for a, b in pairs) != sorted(a - b for a, b in pairs):
        low, high = ends(there.difference)
        assert ends(back.difference) == pytest.approx((-high, -low), abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.one_of(BOOLS, FLOATS))
def test_more_of_the_same_narrows(pairs: list[tuple[float, float]]) -> None:
    once = score(compared([one for one, _ in pairs], [one for _, one in pairs]))
    four = score(compared([one for one, _ in pairs] * 4, [one for _, one in pairs] * 4))
    low, high = ends(once.difference)
    narrow_low, narrow_high = ends(four.difference)
    assert narrow_high - narrow_low <= high - low + 1e-9


def test_the_same_rows_give_the_same_digest() -> None:
    columns = [index / 10 for index in range(20)], [index / 9 for index in range(20)]
    assert compared(*columns).digest == compared(*columns).digest
    assert compared(*columns).digest != compared(*columns, options={"seed": 1}).digest
    again = Comparison.model_validate_json(compared(*columns).model_dump_json())
    assert again == compared(*columns)


def test_the_noise_floor_is_taken_off_member_by_member() -> None:
    change = only(compared([True] * 20, [False] * 10 + [True] * 10))
    unchanged = only(compared([True] * 20, [False] * 2 + [True] * 18))
    floor = noise_floor(change, unchanged)
    assert (floor.change.value, floor.unchanged.value) == (0.5, 0.1)
    assert floor.excess.value == pytest.approx(0.4)
    assert floor.excess.method == "Newcombe paired" and (floor.excess.low or 0) > 0


def test_a_noise_floor_needs_the_same_metric_and_something_that_flips() -> None:
    change = only(compared([True], [True]))
    with pytest.raises(UsageError):
        noise_floor(change, only(compared([True], [True], version=2)))
    with pytest.raises(UsageError):
        noise_floor(only(compared([0.5], [0.5])), only(compared([0.5], [0.5])))


def test_noise_is_added_to_what_can_flip() -> None:
    change = compare(
        rows([True, True], [True, False]) + rows([0.1, 0.2], [0.1, 0.2], name="cost"), [member(0), member(1)]
    )
    told = with_noise(change, change)
    assert [metric.noise is not None for metric in told.metrics] == [False, True]
