from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from rejudge.compare.proportions import (
    clopper_pearson,
    mcnemar_chi_squared,
    mcnemar_exact,
    mcnemar_mid_p,
    newcombe_paired,
    sign_test,
    wilson,
)

COUNTS = st.integers(min_value=0, max_value=60)


def test_wilson_gives_the_published_intervals() -> None:
    assert (wilson(8, 10).low, wilson(8, 10).high) == pytest.approx((0.490162, 0.943318), abs=5e-7)
    assert wilson(0, 30).low == 0.0
    assert wilson(0, 30).high == pytest.approx(0.113513, abs=5e-7)


def test_clopper_pearson_gives_the_published_interval() -> None:
    rate = clopper_pearson(8, 10)
    assert (rate.low, rate.high) == pytest.approx((0.443905, 0.974789), abs=5e-7)


@given(COUNTS, COUNTS)
def test_intervals_agree_with_statsmodels(passed: int, failed: int) -> None:
    n = passed + failed
    if n == 0:
        assert wilson(0, 0).value is None
        return
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "beta")):
        low, high = proportion_confint(passed, n, method=method)
        rate = ours(passed, n)
        assert (rate.low, rate.high) == pytest.approx((low, high), abs=1e-9)


@pytest.mark.parametrize(
    ("discordant", "exact", "mid_p"),
    [((121, 59), 4.434e-6, 3.267e-6), ((1, 9), 0.021484, 0.011719), ((2, 10), 0.038574, 0.022461)],
    ids=["121-59", "1-9", "2-10"],
)
def test_mcnemar_gives_the_published_p_values(discordant: tuple[int, int], exact: float, mid_p: float) -> None:
    assert mcnemar_exact(*discordant).p_value == pytest.approx(exact, rel=2e-4)
    assert mcnemar_mid_p(*discordant).p_value == pytest.approx(mid_p, rel=2e-4)


def test_mcnemar_gives_the_published_chi_squared() -> None:
    test = mcnemar_chi_squared(121, 59)
    assert test.statistic == pytest.approx(21.3556, abs=5e-5)
    assert test.p_value == pytest.approx(3.815e-6, rel=2e-4)


@given(COUNTS, COUNTS)
def test_mcnemar_agrees_with_statsmodels(gained: int, lost: int) -> None:
    expected = mcnemar([[5, gained], [lost, 5]], exact=True).pvalue
    assert mcnemar_exact(gained, lost).p_value == pytest.approx(expected, abs=1e-12)
    assert mcnemar_exact(gained, lost).p_value == mcnemar_exact(lost, gained).p_value


@pytest.mark.parametrize("discordant", [(520, 480), (1500, 1400), (0, 2000)])
def test_mid_p_holds_where_coefficients_overflow(discordant: tuple[int, int]) -> None:
    gained, lost = discordant
    exact = binomtest(gained, gained + lost).pvalue
    assert 0 <= mcnemar_mid_p(gained, lost).p_value <= exact


@pytest.mark.parametrize(
    ("table", "low", "high"),
    [((36, 12, 2, 0), 0.0569, 0.3404), ((1, 1, 7, 12), -0.507, -0.026)],
    ids=["newcombe-1998", "fagerland-2014"],
)
def test_newcombe_gives_the_published_intervals(table: tuple[int, int, int, int], low: float, high: float) -> None:
    difference = newcombe_paired(*table)
    assert (difference.low, difference.high) == pytest.approx((low, high), abs=6e-4)


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_newcombe_mirrors_when_sides_swap(both: int, first: int, second: int, neither: int) -> None:
    one, other = newcombe_paired(both, first, second, neither), newcombe_paired(both, second, first, neither)
    if one.value is None or other.value is None:
        assert both + first + second + neither == 0
        return
    assert one.value == pytest.approx(-other.value)
    assert (one.low, one.high) == pytest.approx((-(other.high or 0), -(other.low or 0)), abs=1e-12)
    assert -1 <= (one.low or 0) <= one.value <= (one.high or 0) <= 1


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_newcombe_narrows_on_doubled_data(both: int, first: int, second: int, neither: int) -> None:
    counts = [both, first, second, neither]
    once, twice = newcombe_paired(*counts), newcombe_paired(*(2 * count for count in counts))
    if sum(counts):
        assert (twice.high or 0) - (twice.low or 0) <= (once.high or 0) - (once.low or 0) + 1e-12


def test_no_discordant_pair_is_no_evidence() -> None:
    assert mcnemar_exact(0, 0).p_value == mcnemar_mid_p(0, 0).p_value == sign_test(0, 0).p_value == 1.0
