"""Back-testing: a new version of an evaluator against the old one, on what both have scored."""

from __future__ import annotations

from collections.abc import Sequence

from rejudge.compare.comparison import compare
from rejudge.compare.proportions import wilson
from rejudge.errors import Incomplete, UsageError
from rejudge.models.calibration import BackTest, Calibration
from rejudge.models.comparison import Estimate, Member, Metric, MetricComparison, Observation, Run


def back_test(
    old: Sequence[Observation],
    new: Sequence[Observation],
    *,
    old_calibration: Calibration | None = None,
    new_calibration: Calibration | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> BackTest:
    """How a new version of an evaluator differs from the old one.

    Args:
        old: One metric's rows under the old version, one a session (``member`` is the session).
        new: The same row's under the new one.
        old_calibration: Against the labels there are.
        new_calibration: Against the same labels.
        alpha: One minus the level of the intervals.
        seed: Of the bootstrap.

    Raises:
        UsageError: Where a side holds several metrics, or the two are not rows of one name.
        Incomplete: Where no session was scored by both.
    """
    before, after = _metric(old), _metric(new)
    if before.name != after.name:
        raise UsageError(f"{before.key} and {after.key} are not the same row", mend="back-test row by row")
    metric = _compared(old, new, alpha=alpha, seed=seed)
    figure = metric.pass_rate or metric.score
    if metric.coverage.scored == 0:
        raise Incomplete(f"no session has a score of both {before.key} and {after.key}", mend="score them again")
    return BackTest(
        old=before,
        new=after,
        n=metric.coverage.scored,
        total=metric.coverage.total,
        agreement=_agreement(metric, alpha),
        old_headline=None if figure is None else figure.baseline,
        new_headline=None if figure is None else figure.replay,
        difference=None if figure is None else figure.difference,
        flips=metric.flips,
        old_calibration=old_calibration,
        new_calibration=new_calibration,
    )


def _metric(rows: Sequence[Observation]) -> Metric:
    found = {row.metric for row in rows if row.name}
    if len(found) != 1:
        raise UsageError(f"a back-test takes one metric a side, not {len(found)}", mend="back-test row by row")
    return found.pop()


def _compared(old: Sequence[Observation], new: Sequence[Observation], *, alpha: float, seed: int) -> MetricComparison:
    """The two versions as if they were two runs of one metric."""
    sessions = sorted({row.member for row in (*old, *new)})
    members = [Member(id=session, runs=(Run(session_id=session),)) for session in sessions]
    name = _metric(old).name
    same = {"version": None, "params_digest": "", "evaluator": "back-test", "trial": 1, "name": name}
    rows = [row.model_copy(update=same | {"side": "baseline"}) for row in old]
    rows += [row.model_copy(update=same | {"side": "replay"}) for row in new]
    (metric,) = compare(rows, members, alpha=alpha, seed=seed).metrics
    return metric


def _agreement(metric: MetricComparison, alpha: float) -> Estimate | None:
    if metric.changed is None or metric.changed.value is None:
        return None
    n = metric.changed.n
    return wilson(n - round(metric.changed.value * n), n, alpha=alpha)
