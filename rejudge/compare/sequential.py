"""Stopping early: evidence that may be looked at after every member."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import exp, lgamma, log
from random import Random
from typing import Literal, TypeAlias

from rejudge.models.comparison import Stopping

Outcome: TypeAlias = Literal["regressed", "improved", "same", "missing"]
"""What one member's pair of verdicts says; only the first two are evidence."""

_MOST = 690.0
"""The logarithm beyond which an e-value is cut: JSON has no infinity, and nobody needs more."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What has been seen so far."""

    seen: int = 0
    """Members replayed."""
    discordant: int = 0
    regressions: int = 0
    largest: float = 1.0
    """The largest e-value of any look."""

    @property
    def p_value(self) -> float:
        """Valid at every look, however often one looks."""
        return min(1.0, 1.0 / self.largest)


def e_value(discordant: int, regressions: int) -> float:
    """The evidence against "as many regressions as improvements": 2^n / ((n+1) C(n, x)).

    The likelihood ratio of a uniform mixture over the rate to one half, a test martingale (Ville 1939; Robbins
    1970; Ramdas et al. 2023, arXiv 2210.01948): the chance that it ever reaches 1/alpha is at most alpha.

    Example:
        >>> round(e_value(10, 9), 4)
        9.3091
    """
    chosen = lgamma(discordant + 1) - lgamma(regressions + 1) - lgamma(discordant - regressions + 1)
    exponent = discordant * log(2) - log(discordant + 1) - chosen
    return exp(min(exponent, _MOST))


def outcome(baseline_passed: bool | None, replay_passed: bool | None) -> Outcome:
    """What one pair of verdicts says."""
    if baseline_passed is None or replay_passed is None:
        return "missing"
    if baseline_passed == replay_passed:
        return "same"
    return "improved" if replay_passed else "regressed"


def observe(evidence: Evidence, seen: Outcome) -> Evidence:
    """The evidence after one more member."""
    discordant = evidence.discordant + (seen in ("regressed", "improved"))
    regressions = evidence.regressions + (seen == "regressed")
    largest = max(evidence.largest, e_value(discordant, regressions))
    return Evidence(evidence.seen + 1, discordant, regressions, largest)


def stop_reason(
    evidence: Evidence, total: int, *, alpha: float = 0.05
) -> Literal["evidence", "futility", "exhausted"] | None:
    """Why to stop now: enough evidence, no outcome of the rest that could bring it, or nobody left; else None."""
    if evidence.largest >= 1 / alpha:
        return "evidence"
    left = total - evidence.seen
    if left <= 0:
        return "exhausted"
    return None if _reachable(evidence, left) >= 1 / alpha else "futility"


def replay_order(members: Iterable[str], *, seed: int = 0) -> list[str]:
    """The members in a random order that the seed decides; what they came in is of no consequence."""
    order = sorted(members)
    Random(seed).shuffle(order)
    return order


def stopping(outcomes: Sequence[tuple[str, Outcome]], total: int, *, alpha: float = 0.05) -> Stopping:
    """How a run of these members, in the order they were replayed, ended.

    Args:
        outcomes: Member and outcome, up to where the run stopped.
        total: Members of the cohort.
    """
    evidence = reduce(observe, (seen for _, seen in outcomes), Evidence())
    reason = stop_reason(evidence, total, alpha=alpha) or "exhausted"
    last = outcomes[-1][0] if outcomes and reason != "exhausted" else None
    return Stopping(
        reason=reason,
        after=evidence.seen,
        total=total,
        stopped_at=last,
        discordant=evidence.discordant,
        regressions=evidence.regressions,
        e_value=evidence.largest,
        p_value=evidence.p_value,
    )


def _reachable(evidence: Evidence, left: int) -> float:
    """The largest e-value that any outcome of the rest could bring: all of them one way."""
    n, x = evidence.discordant, evidence.regressions
    return max(e_value(n + left, x + left), e_value(n + left, x))
