"""Judging a gate: every rule on its metric, closed wherever it could not be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from rejudge.compare.limits import (
    Limit,
    increase_of,
    judge_limit,
    judge_no_failures,
)
from rejudge.compare.missing import missing_stops, missing_words
from rejudge.compare.multiplicity import holm
from rejudge.compare.verdicts import decide
from rejudge.models.calibration import Calibration
from rejudge.models.comparison import Comparison, Coverage, Estimate, Figure, MetricComparison
from rejudge.models.gate import Gate, GateOutcome, GateResult, Rule, RuleResult

_METRICS_NAMED: Final = 10
"""Metrics that there are, in the reason of a rule on one that there is not."""


def judge_gate(
    gate: Gate, comparison: Comparison, *, calibrations: Mapping[str, Calibration] | None = None
) -> GateResult:
    """What becomes of a gate.

    Args:
        gate: With no ``@latest`` left in it.
        comparison: Every metric that was run.
        calibrations: By metric key, for the rules that demand one.
    """
    metrics = [comparison.metric(rule.metric) for rule in gate.rule]
    significant = _significance(gate, metrics)
    results = [
        _judge(rule, metric, gate, p_value, comparison, calibrations or {})
        for rule, metric, p_value in zip(gate.rule, metrics, significant, strict=True)
    ]
    return GateResult(results=tuple(results), missing=gate.missing)


def _significance(gate: Gate, metrics: list[MetricComparison | None]) -> list[float | None]:
    """The p-value of each rule about a difference, adjusted by Holm over all of them."""
    figures = [
        None if metric is None or rule.rule != "no-regression" else _figure(rule, metric)
        for rule, metric in zip(gate.rule, metrics, strict=True)
    ]
    raw = [None if figure is None else figure.p_value for figure in figures]
    adjusted = iter(holm([p for p in raw if p is not None]))
    return [None if p is None else next(adjusted) for p in raw]


def _judge(
    rule: Rule,
    metric: MetricComparison | None,
    gate: Gate,
    p_value: float | None,
    comparison: Comparison,
    calibrations: Mapping[str, Calibration],
) -> RuleResult:
    if metric is None:
        return RuleResult(rule=rule, outcome="error", reason=_absence(rule, comparison))
    demanded = _calibration(rule, metric, calibrations)
    if demanded is not None:
        return demanded
    if rule.rule == "no-new-failures":
        return judge_no_failures(rule, metric, gate)
    if rule.rule in ("no-regression", "equivalent"):
        return _judge_difference(rule, metric, gate, p_value, comparison.alpha)
    limit = _limit(rule, metric, comparison)
    if isinstance(limit, str):
        return RuleResult(rule=rule, outcome="error", reason=limit)
    return judge_limit(rule, limit, gate)


def _absence(rule: Rule, comparison: Comparison) -> str:
    alike = [one.metric.key for one in comparison.metrics if one.metric.plain_key == rule.metric]
    if len(alike) > 1:
        return f"it ran with several sets of params; name one of {', '.join(alike)}"
    # Of the rule's own evaluator, where it gave any: what is mistyped is then its row.
    plain = dict.fromkeys(one.metric.plain_key for one in comparison.metrics)
    own = [key for key in plain if key.rpartition(":")[0] == rule.evaluator]
    there = ", ".join((own or list(plain))[:_METRICS_NAMED]) or "none"
    return f"no row of this metric was produced by this run; it has {there}"


def _judge_difference(
    rule: Rule, metric: MetricComparison, gate: Gate, p_value: float | None, alpha: float
) -> RuleResult:
    figure = _figure(rule, metric)
    if figure is None:
        return RuleResult(rule=rule, outcome="error", reason="this metric has no such figure")
    if rule.rule == "no-regression" and figure.direction == "none":
        reason = "neither way is better for this metric: its rows give no direction and no verdict"
        return RuleResult(rule=rule, outcome="error", reason=reason)
    outcome, reason = _with_missing(rule, figure, gate)
    if outcome == "failed" and rule.rule == "no-regression" and _judged(figure.coverage, gate):
        outcome, reason = _confirmed(rule, metric, p_value, alpha, reason)
    return RuleResult(rule=rule, outcome=outcome, reason=reason, estimate=figure.difference, coverage=figure.coverage)


def _with_missing(rule: Rule, figure: Figure, gate: Gate) -> tuple[GateOutcome, str]:
    """The outcome of the scored pairs, held to what the gate says of missing ones."""
    outcome, reason = _on_difference(rule, figure, figure.difference)
    coverage = figure.coverage
    if coverage.complete:
        return outcome, reason
    stopped = missing_stops(coverage, gate)
    if stopped is not None:
        return stopped
    if gate.missing == "bound":
        ends = (figure.bounds.lowest, figure.bounds.highest)
        outcomes = {_on_difference(rule, figure, end)[0] if end is not None else None for end in ends}
        if outcomes != {outcome}:
            return "inconclusive", f"{missing_words(coverage)}: they could have made it another outcome"
    return outcome, f"{reason} ({missing_words(coverage)})"


def _judged(coverage: Coverage, gate: Gate) -> bool:
    return missing_stops(coverage, gate) is None


def _on_difference(rule: Rule, figure: Figure, difference: Estimate) -> tuple[GateOutcome, str]:
    margin = figure.verdict.margin if rule.margin is None else rule.margin
    word = decide(difference, figure.direction, margin=margin)
    edge = f"the margin of {margin:g}" if margin else "0"
    if rule.rule == "equivalent":
        if word in ("equivalent", "unchanged"):
            return "passed", f"the whole interval lies inside {edge}"
        if word == "inconclusive":
            return "inconclusive", f"the interval reaches across {edge}"
        return "failed", f"the whole interval lies beyond {edge}"
    if word == "regressed":
        return "failed", f"the whole interval lies on the worse side of {edge}"
    if word in ("improved", "equivalent") or _not_worse(figure, difference, margin):
        return "passed", f"the whole interval lies on the better side of {edge if not margin else '-' + edge}"
    return "inconclusive", "no significance is not a pass: " + (
        f"the interval reaches across {edge}" if margin else "a margin would say what is too small to matter"
    )


def _not_worse(figure: Figure, difference: Estimate, margin: float) -> bool:
    """Non-inferior: a loss beyond the margin is outside the interval."""
    if difference.low is None or difference.high is None or margin == 0 or difference.low == difference.high:
        return False
    return difference.low >= -margin if figure.direction == "higher" else difference.high <= margin


def _confirmed(
    rule: Rule, metric: MetricComparison, p_value: float | None, alpha: float, reason: str
) -> tuple[GateOutcome, str]:
    """A regression that counts: it survives Holm, and the noise floor where the rule asks for it."""
    if p_value is None or p_value > alpha:
        shown = "unknown" if p_value is None else f"{p_value:.3g}"
        return "inconclusive", f"{reason}, but over all rules of this gate p is {shown} (Holm)"
    if not rule.above_noise:
        return "failed", reason
    if metric.noise is None:
        return "error", "the rule asks for a noise floor, and no unchanged replays were compared"
    if metric.noise.excess.low is None or metric.noise.excess.low <= 0:
        return "inconclusive", f"{reason}, but not beyond the noise of unchanged replays"
    return "failed", f"{reason}, and beyond the noise of unchanged replays"


def _figure(rule: Rule, metric: MetricComparison) -> Figure | None:
    """The figure a rule about a difference is on: as it says, else the one with a direction."""
    if rule.statistic is not None:
        return metric.score if rule.statistic == "score" else metric.pass_rate
    if metric.score is not None and metric.score.direction != "none":
        return metric.score
    return metric.pass_rate or metric.score


def _limit(rule: Rule, metric: MetricComparison, comparison: Comparison) -> Limit | str:
    """What a rule with a limit compares with what, or why it cannot."""
    if rule.rule == "min-pass-rate":
        figure = metric.pass_rate or (metric.score if metric.kind == "rate" else None)
        if figure is None:
            return "this metric has no verdicts and no true or false"
        return _side_limit(figure, "least", rule.value or 0.0, f"the {figure.statistic}")
    if metric.score is None:
        return "this metric has no number"
    if rule.rule == "max-mean":
        return _side_limit(metric.score, "most", rule.value or 0.0, f"the {metric.score.statistic}")
    if rule.absolute is not None:
        return _increase_limit(metric.score, rule.absolute)
    return _relative_limit(metric, metric.score, rule.relative or 0.0, comparison)


def _side_limit(figure: Figure, kind: Literal["least", "most"], bound: float, name: str) -> Limit:
    return Limit(
        estimate=figure.replay,
        bound=bound,
        kind=kind,
        coverage=figure.coverage,
        lowest=figure.bounds.replay_lowest,
        highest=figure.bounds.replay_highest,
        demand=f"{name} must be at {kind} {bound:g}",
        shown=f"{figure.replay.value or 0.0:.4g}",
    )


def _increase_limit(figure: Figure, most: float) -> Limit:
    return Limit(
        estimate=figure.difference,
        bound=most,
        kind="most",
        coverage=figure.coverage,
        lowest=figure.bounds.lowest,
        highest=figure.bounds.highest,
        demand=f"the increase must be at most {most:g}",
        shown=f"{figure.difference.value or 0.0:+.4g}",
    )


def _relative_limit(metric: MetricComparison, figure: Figure, most: float, comparison: Comparison) -> Limit:
    before, moved = figure.baseline.value, figure.difference.value
    return Limit(
        estimate=increase_of(metric, most, alpha=comparison.alpha, seed=comparison.seed),
        bound=0.0,
        kind="most",
        coverage=figure.coverage,
        lowest=None,
        highest=None,
        demand=f"the increase must be at most {most:.4g} of the baseline",
        shown=f"{moved / before:+.4g}" if before and moved is not None else f"{moved or 0.0:+.4g} from 0",
    )


def _calibration(rule: Rule, metric: MetricComparison, calibrations: Mapping[str, Calibration]) -> RuleResult | None:
    """What stops the rule because its evaluator is not calibrated as it demands; None where it is."""
    if not rule.calibrated:
        return None
    found = calibrations.get(metric.metric.key) or calibrations.get(metric.metric.plain_key)
    if found is None or found.label != rule.label:
        return RuleResult(rule=rule, outcome="error", reason=f"it was never calibrated against {rule.label}")
    if metric.fingerprints and set(metric.fingerprints) != {found.fingerprint}:
        reason = "its labels were compared with another fingerprint than the one that judged this run"
        return RuleResult(rule=rule, outcome="error", reason=reason)
    if rule.min_labels is not None and found.n < rule.min_labels:
        reason = f"{found.n} labels, and the rule demands {rule.min_labels}"
        return RuleResult(rule=rule, outcome="failed", reason=reason)
    return _kappa(rule, found)


def _kappa(rule: Rule, found: Calibration) -> RuleResult | None:
    if rule.min_kappa is None:
        return None
    kappa = found.kappa
    if kappa is None or kappa.value is None:
        reason = "kappa is undefined: the labels are all of one kind"
        return RuleResult(rule=rule, outcome="inconclusive", reason=reason, estimate=kappa)
    if kappa.value >= rule.min_kappa and (rule.on == "point" or (kappa.low or 0.0) >= rule.min_kappa):
        return None
    reached = kappa.high is not None and kappa.high >= rule.min_kappa and rule.on == "interval"
    reason = f"kappa is {kappa.value:.3g} against {rule.label}, and the rule demands {rule.min_kappa:g}"
    return RuleResult(rule=rule, outcome="inconclusive" if reached else "failed", reason=reason, estimate=kappa)
