"""Rules with a limit: a rate, a mean or an increase against a number, and members that must not break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rejudge.compare.figures import difference_of
from rejudge.compare.missing import missing_stops, missing_words
from rejudge.compare.samples import Numbers
from rejudge.models.comparison import Coverage, Estimate, MetricComparison, Pair
from rejudge.models.gate import Gate, GateOutcome, Rule, RuleResult


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure, and what it must keep to."""

    estimate: Estimate
    bound: float
    kind: Literal["least", "most"]
    coverage: Coverage
    lowest: Estimate | None
    highest: Estimate | None
    """The figure with everything missing at its lowest and highest; None where that is not known."""
    demand: str
    """What is demanded, in words: ``the pass rate must be at least 0.8``."""
    shown: str
    """The figure, in words."""


def judge_limit(rule: Rule, limit: Limit, gate: Gate) -> RuleResult:
    """Whether the figure keeps its limit."""
    outcome, reason = _held_to_missing(rule, limit, gate)
    return RuleResult(rule=rule, outcome=outcome, reason=reason, estimate=limit.estimate, coverage=limit.coverage)


def judge_no_failures(rule: Rule, metric: MetricComparison, gate: Gate) -> RuleResult:
    """Whether every member that passed before passes still, in every trial."""
    figure = metric.pass_rate or (metric.score if metric.kind == "rate" else None)
    if figure is None:
        return RuleResult(rule=rule, outcome="error", reason="this metric has no verdicts and no true or false")
    broken = tuple(pair.member for pair in metric.pairs if _newly_fails(pair, metric))
    stopped = missing_stops(figure.coverage, gate)
    outcome: GateOutcome = "passed"
    reason = "no session that passed before fails now"
    if broken:
        outcome, reason = "failed", f"{len(broken)} sessions that passed before fail now"
    elif stopped is not None:
        outcome, reason = stopped
    elif not figure.coverage.complete and gate.missing == "bound":
        outcome, reason = "inconclusive", f"{missing_words(figure.coverage)}: they could be new failures"
    return RuleResult(
        rule=rule,
        outcome=outcome,
        reason=reason,
        estimate=figure.difference,
        coverage=figure.coverage,
        members=broken,
    )


def increase_of(metric: MetricComparison, relative: float, *, alpha: float, seed: int) -> Estimate:
    """The mean of replay - (1 + relative) x baseline: below 0 where the increase keeps the limit.

    A ratio of means would need its own interval; this is linear, so the paired one serves.
    """
    pairs = [(pair.baseline, pair.replay, pair.cluster or ("member", pair.member)) for pair in metric.pairs]
    scored = [(before, after, unit) for before, after, unit in pairs if before is not None and after is not None]
    numbers = Numbers(
        np.array([(1 + relative) * before for before, _, _ in scored], dtype=np.float64),
        np.array([after for _, after, _ in scored], dtype=np.float64),
        tuple(unit for _, _, unit in scored),
    )
    return difference_of(numbers, binary=False, alpha=alpha, seed=seed)


def _held_to_missing(rule: Rule, limit: Limit, gate: Gate) -> tuple[GateOutcome, str]:
    stopped = missing_stops(limit.coverage, gate)
    if stopped is not None:
        return stopped
    outcome, reason = _against(rule, limit, limit.estimate)
    if limit.coverage.complete or gate.missing != "bound":
        return outcome, reason
    ends = (limit.lowest, limit.highest)
    outcomes = {None if end is None else _against(rule, limit, end)[0] for end in ends}
    if outcomes == {outcome}:
        return outcome, reason
    return "inconclusive", f"{missing_words(limit.coverage)}: they could have made it another outcome"


def _against(rule: Rule, limit: Limit, estimate: Estimate) -> tuple[GateOutcome, str]:
    if estimate.value is None:
        return "inconclusive", "nothing was scored"
    ends = (estimate.low, estimate.high) if rule.on == "interval" else (estimate.value, estimate.value)
    if ends[0] is None or ends[1] is None:
        return "inconclusive", "too few sessions for an interval"
    sign = 1 if limit.kind == "most" else -1
    low, high = sorted((sign * ends[0], sign * ends[1]))
    if high <= sign * limit.bound:
        return "passed", f"{limit.demand}; it is {limit.shown}"
    if low > sign * limit.bound:
        return "failed", f"{limit.demand}; it is {limit.shown}"
    return "inconclusive", f"{limit.demand}; it is {limit.shown}, but its interval reaches across that"


def _newly_fails(pair: Pair, metric: MetricComparison) -> bool:
    if metric.pass_rate is not None:
        before, after = pair.baseline_passed, pair.replay_passed
    else:
        # A bool without a verdict: true is what it should be, unless lower is better.
        flip = metric.direction == "lower"
        before, after = _turned(pair.baseline, flip), _turned(pair.replay, flip)
    return before == 1.0 and after is not None and after < 1.0


def _turned(rate: float | None, flip: bool) -> float | None:
    return None if rate is None else (1 - rate if flip else rate)
