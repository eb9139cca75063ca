"""The comparison of a cohort with its replays, metric by metric."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from rejudge.compare.categories import transitions
from rejudge.compare.figures import figure
from rejudge.compare.flips import flippable, flips_of
from rejudge.compare.multiplicity import benjamini_hochberg, holm
from rejudge.compare.pairs import MetricValues, metric_values, missing_of, pair_of
from rejudge.compare.proportions import wilson
from rejudge.compare.samples import sample
from rejudge.compare.trials import trial_rates
from rejudge.errors import UsageError
from rejudge.models.comparison import (
    Adjustment,
    Comparison,
    Coverage,
    Estimate,
    Figure,
    Flip,
    Member,
    Metric,
    MetricComparison,
    Observation,
    Pair,
    Statistic,
    Stopping,
    Transitions,
    Verdict,
)

FigureName: TypeAlias = Literal["score", "pass_rate"]


def compare(
    observations: Iterable[Observation],
    members: Sequence[Member],
    *,
    margin: float = 0.0,
    margins: Mapping[str, float] | None = None,
    gating: Collection[str] = (),
    alpha: float = 0.05,
    seed: int = 0,
    stopping: Stopping | None = None,
) -> Comparison:
    """Every metric among the observations, paired by member.

    Args:
        observations: Rows of both sides, and the scorings that ended without one.
        members: The whole cohort with its replays: what the denominators count.
        margin: What is too small to matter, for every metric that ``margins`` does not name.
        margins: By metric key, with or without its params.
        gating: Keys that a gate decides on: their p-values are adjusted by Holm, all others by Benjamini-Hochberg.
        alpha: One minus the level of every interval.
        seed: Of every resampling: the same rows give the same figures.
        stopping: How the run ended, where it was allowed to stop early.

    Raises:
        UsageError: For a level, margin, row or member that cannot be compared.
    """
    named = dict(margins or {})
    _check(alpha, [margin, *named.values()])
    metrics = [
        _metric_comparison(values, margin=_margin(values.metric, named, margin), alpha=alpha, seed=seed)
        for values in metric_values(observations, members)
    ]
    return Comparison(
        metrics=tuple(_adjusted(metrics, frozenset(gating))),
        members=tuple(members),
        alpha=alpha,
        margin=margin,
        margins=named,
        gating=tuple(sorted(gating)),
        seed=seed,
        stopping=stopping,
    )


def _check(alpha: float, margins: Iterable[float]) -> None:
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must be between 0 and 1, not {alpha!r}", mend="0.05 gives 95 % intervals")
    for margin in margins:
        if not 0 <= margin < float("inf"):
            raise UsageError(f"a margin must be 0 or more, not {margin!r}", mend="give it in the metric's own unit")


def _margin(metric: Metric, margins: Mapping[str, float], default: float) -> float:
    return margins.get(metric.key, margins.get(metric.plain_key, default))


def _metric_comparison(values: MetricValues, *, margin: float, alpha: float, seed: int) -> MetricComparison:
    pairs = tuple(pair_of(member) for member in values.members)
    moved = _moves(values, pairs)
    score = _score_figure(values, margin=margin, alpha=alpha, seed=seed)
    passes = _pass_figure(values, margin=margin, alpha=alpha, seed=seed)
    flips = flips_of(values)
    coverage = sample(values.members, lambda row: 1.0, None).coverage
    return MetricComparison(
        metric=values.metric,
        kind=values.kind,
        direction=values.direction,
        fingerprints=values.fingerprints,
        score=score,
        pass_rate=passes,
        changed=_changed(values, flips, alpha=alpha),
        coverage=coverage,
        verdict=_verdict(score, passes, moved, values, coverage, margin=margin, alpha=alpha),
        pairs=pairs,
        missing=tuple(one for member in values.members for one in missing_of(member)),
        flips=flips,
        transitions=moved,
        trials=trial_rates([_trial_verdicts(pair, values) for pair in pairs]),
    )


def _score_figure(values: MetricValues, *, margin: float, alpha: float, seed: int) -> Figure | None:
    if values.kind not in ("rate", "mean", "categorical"):
        return None
    numbers = sample(values.members, _score, values.score_range)
    if values.kind == "categorical" and not numbers.scored.clusters:
        return None
    statistic: Statistic = "rate of true" if values.kind == "rate" else "mean"
    return figure(numbers, statistic, values.direction, margin=margin, alpha=alpha, seed=seed)


def _pass_figure(values: MetricValues, *, margin: float, alpha: float, seed: int) -> Figure | None:
    rows = (trial.row for member in values.members for trial in (*member.baseline, *member.replay))
    if all(row is None or row.passed is None for row in rows):
        return None
    # To pass is better, whichever way the score points.
    return figure(
        sample(values.members, _passed, (0.0, 1.0)), "pass rate", "higher", margin=margin, alpha=alpha, seed=seed
    )


def _score(row: Observation) -> float | None:
    return None if row.score is None else float(row.score)


def _passed(row: Observation) -> float | None:
    return None if row.passed is None else float(row.passed)


def _moves(values: MetricValues, pairs: Sequence[Pair]) -> Transitions | None:
    if values.kind != "categorical":
        return None
    texts = [(pair.baseline_text, pair.replay_text) for pair in pairs]
    return transitions([(one, other) for one, other in texts if one is not None and other is not None])


def _changed(values: MetricValues, flips: Sequence[Flip], *, alpha: float) -> Estimate | None:
    able = sum(flippable(member) for member in values.members)
    return wilson(len({flip.member for flip in flips}), able, alpha=alpha) if able else None


def _trial_verdicts(pair: Pair, values: MetricValues) -> Sequence[bool]:
    if pair.replay_verdicts or values.kind != "rate":
        return pair.replay_verdicts
    return [bool(score) for score in pair.replay_scores]


def _verdict(
    score: Figure | None,
    passes: Figure | None,
    moved: Transitions | None,
    values: MetricValues,
    coverage: Coverage,
    *,
    margin: float,
    alpha: float,
) -> Verdict:
    """Of the whole metric: a regression in either figure, else the first that has a direction, else what moved."""
    directed = [one.verdict for one in (score, passes) if one is not None and one.direction != "none"]
    worse = [verdict for verdict in directed if verdict.word == "regressed"]
    if directed:
        return (worse or directed)[0]
    if moved is not None:
        return _labels_verdict(moved, coverage, margin=margin, alpha=alpha)
    if score is not None:
        return score.verdict
    return _text_verdict(values, coverage, margin=margin)


def _labels_verdict(moved: Transitions, coverage: Coverage, *, margin: float, alpha: float) -> Verdict:
    if moved.symmetry is None:
        same = Verdict(word="unchanged", reason="every label is the same", observed="unchanged", margin=margin)
        return same if coverage.complete else _incomplete(same)
    tested = f"{moved.symmetry.n} labels moved (Bowker p = {moved.symmetry.p_value:.3g})"
    if moved.symmetry.p_value > alpha:
        return Verdict(
            word="inconclusive", reason=f"{tested}: no way more than back", observed="inconclusive", margin=margin
        )
    changed = Verdict(word="changed", reason=tested, observed="changed", margin=margin)
    return changed if coverage.complete else _incomplete(changed)


def _text_verdict(values: MetricValues, coverage: Coverage, *, margin: float) -> Verdict:
    if coverage.scored == 0:
        reason = "no pair was scored on both sides"
        return Verdict(word="inconclusive", reason=reason, observed="inconclusive", margin=margin)
    moved = len({flip.member for flip in flips_of(values)})
    if moved:
        reason = f"{moved} of {coverage.scored} texts are not what they were"
        return Verdict(word="changed", reason=reason, observed="changed", margin=margin)
    same = Verdict(word="unchanged", reason="every text is the same", observed="unchanged", margin=margin)
    return same if coverage.complete else _incomplete(same)


def _incomplete(verdict: Verdict) -> Verdict:
    reason = f"the scored pairs say {verdict.observed}, but members are missing"
    return verdict.model_copy(update={"word": "inconclusive", "reason": reason})


def _adjusted(metrics: Sequence[MetricComparison], gating: frozenset[str]) -> list[MetricComparison]:
    """Each metric with its deciding figures' p-values adjusted in their family: those that gate, and the rest."""
    gates = [_gates(one.metric, gating) for one in metrics]
    holms = _adjusted_family(metrics, [index for index, gate in enumerate(gates) if gate], "holm")
    return _adjusted_family(holms, [index for index, gate in enumerate(gates) if not gate], "benjamini-hochberg")


def _gates(metric: Metric, gating: frozenset[str]) -> bool:
    return metric.key in gating or metric.plain_key in gating


def _adjusted_family(
    metrics: Sequence[MetricComparison], family: Sequence[int], method: Adjustment
) -> list[MetricComparison]:
    tested = [(index, field, p) for index in family for field, p in _p_values(metrics[index])]
    adjust = holm if method == "holm" else benjamini_hochberg
    adjusted = list(metrics)
    for (index, field, _), p_value in zip(tested, adjust([p for _, _, p in tested]), strict=True):
        adjusted[index] = _with_adjusted(adjusted[index], field, p_value, method)
    return adjusted


def _p_values(metric: MetricComparison) -> list[tuple[FigureName, float]]:
    """Of the figures that decide: those with a direction, or all where none has one."""
    named: list[tuple[FigureName, Figure | None]] = [("score", metric.score), ("pass_rate", metric.pass_rate)]
    figures = [(name, one) for name, one in named if one is not None]
    deciding = [(name, one) for name, one in figures if one.direction != "none"] or figures
    return [(name, one.p_value) for name, one in deciding if one.p_value is not None]


def _with_adjusted(
    metric: MetricComparison, field: FigureName, p_value: float, method: Adjustment
) -> MetricComparison:
    old = metric.score if field == "score" else metric.pass_rate
    assert old is not None
    new = old.model_copy(update={"adjusted_p": p_value, "adjustment": method})
    return metric.model_copy(update={field: new})
