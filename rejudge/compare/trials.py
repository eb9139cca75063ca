"""Several trials of one member: the chance that any of k, and that all of k, pass."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from rejudge.models.comparison import TrialRates


def any_of_k(trials: int, passed: int, k: int) -> float | None:
    """pass@k, unbiased: 1 - C(n-c, k) / C(n, k) (Chen et al. 2021); None where fewer than k trials were scored."""
    if not 1 <= k <= trials:
        return None
    return 1 - comb(trials - passed, k) / comb(trials, k)


def all_of_k(trials: int, passed: int, k: int) -> float | None:
    """pass^k: C(c, k) / C(n, k) (Yao et al. 2024); None where fewer than k trials were scored."""
    if not 1 <= k <= trials:
        return None
    return comb(passed, k) / comb(trials, k)


def trial_rates(verdicts: Sequence[Sequence[bool]]) -> tuple[TrialRates, ...]:
    """Both, for every k up to the most trials any member had; members with fewer than k are left out of that k.

    Args:
        verdicts: Of each member, the verdicts of its scored trials.
    """
    most = max((len(one) for one in verdicts), default=0)
    if most < 2:
        return ()
    return tuple(_rates(verdicts, k) for k in range(1, most + 1))


def _rates(verdicts: Sequence[Sequence[bool]], k: int) -> TrialRates:
    counted = [(len(one), sum(one)) for one in verdicts if len(one) >= k]
    either = [any_of_k(trials, passed, k) or 0.0 for trials, passed in counted]
    every = [all_of_k(trials, passed, k) or 0.0 for trials, passed in counted]
    n = len(counted)
    return TrialRates(k=k, any_of_k=sum(either) / n, all_of_k=sum(every) / n, members=n)
