from __future__ import annotations

import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import permutation_test, ttest_1samp

from rejudge.compare.means import (
    bca_interval,
    clustered_error,
    clustered_interval,
    sign_flip_test,
    t_interval,
    t_test,
)

DIFFERENCES = [0.1, 0.2, -0.05, 0.3, 0.15, 0, 0.05, 0.25, -0.1, 0.2]
SCORES = [1, 1, 1, 0, 0, 0, 1, 0]
CLUSTERS = [0, 0, 0, 1, 1, 1, 2, 2]
VALUES = st.lists(st.integers(min_value=-20, max_value=20).map(lambda one: one / 10), min_size=2, max_size=12)


def test_t_gives_the_published_figures() -> None:
    test = t_test(DIFFERENCES)
    assert test.statistic == pytest.approx(2.61707, abs=5e-6)
    assert test.p_value == pytest.approx(0.0279449, abs=5e-8)


def test_the_exact_sign_flip_gives_the_published_p() -> None:
    assert sign_flip_test(DIFFERENCES).p_value == 0.04296875


def test_the_bootstrap_gives_the_published_interval() -> None:
    estimate = bca_interval(DIFFERENCES, seed=0)
    assert (estimate.low, estimate.high) == pytest.approx((0.03, 0.185), abs=1e-9)


def test_clusters_give_the_published_error() -> None:
    assert clustered_error(SCORES, CLUSTERS) == pytest.approx(0.265165, abs=5e-7)
    assert np.std(SCORES, ddof=1) / np.sqrt(8) == pytest.approx(0.188982, abs=5e-7)


def test_clusters_widen_the_interval() -> None:
    lone, clustered = t_interval(SCORES), clustered_interval(SCORES, CLUSTERS)
    assert lone.value == clustered.value
    assert (clustered.low or 0) < (lone.low or 0)


@given(VALUES)
def test_t_agrees_with_scipy(values: list[float]) -> None:
    if np.std(values) < 1e-9:
        return
    expected = ttest_1samp(values, 0)
    assert t_test(values).p_value == pytest.approx(expected.pvalue, abs=1e-10)
    interval = expected.confidence_interval()
    estimate = t_interval(values)
    assert (estimate.low, estimate.high) == pytest.approx((interval.low, interval.high), abs=1e-9)


@pytest.mark.parametrize("values", [DIFFERENCES, [0.3, 0.1, 0.2, -0.4], [1, 1, 1, 1, 1, 1], [0, 0, 0, 0.5]])
def test_the_exact_sign_flip_agrees_with_scipy(values: list[float]) -> None:
    expected = permutation_test((np.array(values),), np.sum, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_test(values).p_value == pytest.approx(expected.pvalue, abs=1e-12)


@given(VALUES, st.randoms())
def test_the_sign_flip_knows_no_order_and_no_side(values: list[float], random: object) -> None:
    p_value = sign_flip_test(values).p_value
    assert sign_flip_test(sorted(values)).p_value == p_value
    assert sign_flip_test([-value for value in values]).p_value == p_value
    assert 0 < p_value <= 1


def test_the_sampled_sign_flip_is_near_the_exact_one() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(0.3, 1, size=30)
    sampled = sign_flip_test(values, seed=1)
    assert sampled.method == "sign flip, sampled"
    assert sampled.p_value == pytest.approx(t_test(values).p_value, abs=0.02)
    assert sign_flip_test(values, seed=1) == sampled


@pytest.mark.parametrize("values", [[], [0.5], [0.5, 0.5, 0.5]], ids=["none", "one", "alike"])
def test_too_little_to_resample_is_no_error(values: list[float]) -> None:
    estimate = bca_interval(values)
    assert estimate.n == len(values)
    assert (estimate.low is None) == (len(values) < 2)


def test_ten_thousand_pairs_take_seconds_and_bounded_memory() -> None:
    values = np.random.default_rng(1).normal(size=10_000)
    tracemalloc.start()
    began = time.process_time()
    estimate = bca_interval(values)
    test = sign_flip_test(values)
    seconds, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (estimate.low or 0) < 0.02 < 0.5 > 0 and 0 < test.p_value <= 1
    assert seconds < 15
    assert peak < 300_000_000
