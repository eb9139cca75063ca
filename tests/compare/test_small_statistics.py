from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import SquareTable
from statsmodels.stats.multitest import multipletests

from rejudge.compare.categories import bowker, transitions
from rejudge.compare.multiplicity import benjamini_hochberg, bonferroni, holm
from rejudge.compare.noise import expected_flips
from rejudge.compare.power import minimum_detectable_effect, power_of, required_n
from rejudge.compare.sequential import (
    Evidence,
    Outcome,
    e_value,
    observe,
    outcome,
    replay_order,
    stop_reason,
    stopping,
)
from rejudge.compare.trials import all_of_k, any_of_k, trial_rates

# Benjamini and Hochberg (1995), table of the 15 p-values of their thrombolysis example.
THROMBOLYSIS = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000,
]  # fmt: skip
P_VALUES = st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("adjust", "rejections"), [(bonferroni, 3), (holm, 3), (benjamini_hochberg, 4)], ids=["bonferroni", "holm", "bh"]
)
def test_the_thrombolysis_example_gives_its_rejections(adjust: object, rejections: int) -> None:
    adjusted = adjust(THROMBOLYSIS)  # type: ignore[operator]
    assert sum(p <= 0.05 for p in adjusted) == rejections


@settings(max_examples=20, deadline=None)
@given(P_VALUES)
def test_adjusted_p_values_agree_with_statsmodels(p_values: list[float]) -> None:
    for adjust, method in ((bonferroni, "bonferroni"), (holm, "holm"), (benjamini_hochberg, "fdr_bh")):
        assert adjust(p_values) == pytest.approx(list(multipletests(p_values, method=method)[1]), abs=1e-12)


def test_the_required_number_of_questions_is_miller_s() -> None:
    assert required_n(1 / 9, 0.03, alpha=0.05, power=0.8) == 969


def test_the_detectable_effect_of_a_hundred_pairs_is_the_published_one() -> None:
    assert minimum_detectable_effect(0.2, 100) == pytest.approx(0.12529, abs=5e-6)


def test_more_sessions_are_counted_from_the_gap_to_the_margin() -> None:
    power = power_of(0.2, 100, 0.05)
    assert power.required_n == required_n(0.2, 0.05)
    assert power.more_sessions == (power.required_n or 0) - 100
    assert power_of(0.2, 100, 0.05, margin=0.05).required_n is None
    assert power_of(0.0, 100, 0.05).minimum_detectable_effect is None


@pytest.mark.parametrize(
    ("k", "expected"), [(1, 0.75), (2, 0.535714), (4, 0.214286), (8, 0.0)], ids=lambda one: str(one)
)
def test_all_of_k_gives_the_published_rates(k: int, expected: float) -> None:
    assert all_of_k(8, 6, k) == pytest.approx(expected, abs=5e-7)


def test_rates_of_more_trials_than_were_scored_are_undefined() -> None:
    assert any_of_k(3, 2, 4) is None and all_of_k(3, 2, 4) is None
    assert any_of_k(8, 6, 3) == 1.0


def test_trial_rates_leave_out_members_with_too_few() -> None:
    rates = trial_rates([[True, False], [True, True], [True], []])
    assert [(rate.k, rate.members) for rate in rates] == [(1, 3), (2, 2)]
    assert (rates[1].any_of_k, rates[1].all_of_k) == (1.0, 0.5)
    assert trial_rates([[True], [False]]) == ()


@pytest.mark.parametrize(
    ("seen", "expected"), [((10, 10), 93.0909), ((10, 9), 9.3091), ((20, 16), 10.3059), ((6, 6), 9.1429)], ids=str
)
def test_e_values_are_the_published_ones(seen: tuple[int, int], expected: float) -> None:
    assert e_value(*seen) == pytest.approx(expected, abs=5e-5)


@given(st.integers(min_value=0, max_value=200))
def test_e_values_average_to_one_without_an_effect(n: int) -> None:
    weights = [np.exp(-np.log(e_value(n, x)) - np.log(n + 1)) for x in range(n + 1)]
    assert sum(weights) == pytest.approx(1.0, abs=1e-9)
    assert e_value(n, 0) == pytest.approx(e_value(n, n))


def test_a_run_stops_on_evidence_futility_or_its_end() -> None:
    seen = Evidence()
    while stop_reason(seen, 100) is None:
        seen = observe(seen, "regressed")
    assert (seen.seen, stop_reason(seen, 100)) == (8, "evidence")
    assert stop_reason(Evidence(seen=95), 100) == "futility"
    assert stop_reason(Evidence(seen=90), 100) is None
    assert stop_reason(Evidence(seen=100), 100) == "exhausted"


@given(st.lists(st.sampled_from(["regressed", "improved", "same", "missing"]), max_size=30), st.integers(0, 12))
def test_futility_is_never_wrong(seen: list[Outcome], left: int) -> None:
    evidence = Evidence()
    for one in seen:
        evidence = observe(evidence, one)
    total = evidence.seen + left
    if stop_reason(evidence, total) == "futility":
        for rest in (["regressed"] * left, ["improved"] * left, ["regressed", "improved"] * (left // 2)):
            final = evidence
            for one in rest:
                final = observe(final, one)  # type: ignore[arg-type]
            assert final.largest < 20


def test_only_discordant_members_are_evidence() -> None:
    assert outcome(True, False) == "regressed" and outcome(False, True) == "improved"
    assert outcome(True, True) == "same" and outcome(None, True) == "missing"
    ended = stopping([("a", "same"), ("b", "missing"), ("c", "regressed")], 3)
    assert (ended.discordant, ended.regressions, ended.after, ended.stopped_at) == (1, 1, 3, None)
    assert ended.reason == "exhausted"


def test_the_stop_names_its_member() -> None:
    ended = stopping([(str(index), "regressed") for index in range(8)], 50)
    assert (ended.reason, ended.stopped_at, ended.after) == ("evidence", "7", 8)
    assert ended.p_value == pytest.approx(1 / ended.e_value)


def test_the_order_of_replays_is_the_seed_s() -> None:
    names = [str(index) for index in range(50)]
    assert replay_order(names, seed=1) == replay_order(reversed(names), seed=1)
    assert replay_order(names, seed=1) != replay_order(names, seed=2)
    assert sorted(replay_order(names)) == sorted(names)


@given(st.lists(st.lists(st.integers(1, 30), min_size=3, max_size=3), min_size=3, max_size=3))
def test_bowker_agrees_with_statsmodels(counts: list[list[int]]) -> None:
    ours, theirs = bowker(counts), SquareTable(np.array(counts), shift_zeros=False).symmetry()
    assert ours is not None
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue), abs=1e-9)


def test_labels_that_stay_are_no_transition() -> None:
    moved = transitions([("a", "a"), ("b", "b")])
    assert moved is not None and moved.symmetry is None and moved.counts == ((1, 0), (0, 1))
    assert transitions([]) is None


def test_independent_noise_flips_twice_p_times_its_rest() -> None:
    assert expected_flips(0.0733) == pytest.approx(0.136, abs=5e-4)
