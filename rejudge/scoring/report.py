"""What a batch came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rejudge.models.canonical import canonical_text
from rejudge.scoring.batch import Batch
from rejudge.scoring.chunk import ChunkEnd, Unscored
from rejudge.store.summaries import MetricSummary

PARAMS_SHOWN: Final = 80
"""Characters of params that stand beside a figure."""
UNSCORED_SHOWN: Final = 200
"""Scorings without a score that a report lists; the rest is counted, and stands in the database."""


@dataclass(slots=True)
class Tally:
    """Counts how a batch's scorings end, while they do."""

    statuses: Counter[tuple[int, str]] = field(default_factory=Counter)
    unscored: list[Unscored] = field(default_factory=list)
    """The first ones, up to what a report shows, and every retryable one."""
    lost: list[str] = field(default_factory=list)
    """Why chunks could not be run or stored: what they held is still to do."""

    def add(self, end: ChunkEnd) -> None:
        """Count a chunk's."""
        self.statuses += end.statuses
        for one in end.unscored:
            if one.retryable or len(self.unscored) < UNSCORED_SHOWN:
                self.unscored.append(one)

    def settle(self, before: Unscored, status: str, error: str) -> None:
        """One that had given no score was tried again, and ended so."""
        self.statuses[before.judge, before.status] -= 1
        self.statuses[before.judge, status] += 1
        self.unscored.remove(before)
        if status != "scored":
            self.unscored.append(Unscored(before.session_id, before.judge, status, error))

    def count(self, status: str) -> int:
        """Scorings that ended so."""
        return sum(number for (_, one), number in self.statuses.items() if one == status)

    @property
    def ended(self) -> int:
        """Scorings that ended, one way or the other."""
        return sum(self.statuses.values())


@dataclass(frozen=True, slots=True)
class BatchReport:
    """How a batch ended."""

    sessions: tuple[str, ...]
    evaluators: tuple[str, ...]
    """``name@number`` of each judge, in order."""
    params: tuple[dict[str, Any], ...]
    """What each judge was given, in order."""
    params_digests: tuple[str, ...]
    total: int
    """Scorings that the batch stands for: sessions times evaluators."""
    reused: int
    """Those that stood already."""
    stood_unscored: int
    """Those among them that ended without a score, in a way that trying again cannot change."""
    statuses: dict[str, int]
    """Those made now, by how they ended."""
    unscored: tuple[Unscored, ...] = ()
    """The first of those that gave no score."""
    not_tried_again: int = 0
    """Retryable failures beyond what one run tries again; running it again picks them up."""
    lost: tuple[str, ...] = ()
    in_progress: int = 0
    """Sessions left out because they have not ended."""
    metrics: tuple[MetricSummary, ...] = ()
    flow_run_id: str | None = None
    url: str | None = None
    """The flow run's page."""

    @property
    def scored(self) -> int:
        """Scorings that gave a score now."""
        return self.statuses.get("scored", 0)

    @property
    def not_scored(self) -> int:
        """Scorings asked for that have none: ended without, or still to do."""
        return self.total - (self.reused - self.stood_unscored) - self.scored

    @property
    def exit_code(self) -> int:
        """0 where everything is scored, 8 where something could not be."""
        return 8 if self.not_scored else 0

    @property
    def sentence(self) -> str:
        """The closing line."""
        parts = [f"{self.scored:,} scored"]
        if self.reused:
            without = f" ({self.stood_unscored:,} without a score)" if self.stood_unscored else ""
            parts.append(f"{self.reused:,} stood already{without}")
        words = {name: number for name, number in sorted(self.statuses.items()) if name != "scored" and number}
        parts += [f"{number:,} {name.replace('_', ' ')}" for name, number in words.items()]
        ended = sum(self.statuses.values())
        if self.total - self.reused - ended > 0:
            parts.append(f"{self.total - self.reused - ended:,} not run")
        if self.in_progress:
            parts.append(f"{self.in_progress:,} sessions still in progress left out")
        return f"{self.total:,} scorings of {len(self.sessions):,} sessions: {', '.join(parts)}"

    def title(self, metric: MetricSummary) -> str:
        """Who gave it: ``name@number``, and its params where it has some."""
        reference = f"{metric.evaluator}@{metric.evaluator_version}"
        given = self._params_of(metric)
        if not given:
            return reference
        shown = canonical_text(given)
        return f"{reference} {shown if len(shown) <= PARAMS_SHOWN else shown[:PARAMS_SHOWN] + '…'}"

    def _params_of(self, metric: MetricSummary) -> dict[str, Any]:
        judges = zip(self.evaluators, self.params_digests, self.params, strict=True)
        key = (f"{metric.evaluator}@{metric.evaluator_version}", metric.params_digest)
        return next((given for reference, digest, given in judges if (reference, digest) == key), {})

    def facts(self) -> dict[str, Any]:
        """The report as plain JSON values, without the sessions' ids."""
        return {
            "session_count": len(self.sessions),
            "evaluators": list(self.evaluators),
            "params": list(self.params),
            "total": self.total,
            "scored": self.scored,
            "reused": self.reused,
            "stood_unscored": self.stood_unscored,
            "not_scored": self.not_scored,
            "statuses": dict(self.statuses),
            "in_progress": self.in_progress,
            "not_tried_again": self.not_tried_again,
            "lost": list(self.lost),
            "unscored": [
                {
                    "session_id": one.session_id,
                    "evaluator": self.evaluators[one.judge],
                    "status": one.status,
                    "error": one.error,
                }
                for one in self.unscored[:UNSCORED_SHOWN]
            ],
            "metrics": [
                {
                    **{name: getattr(one, name) for name in MetricSummary.__slots__ if name != "params_digest"},
                    "params": self._params_of(one),
                }
                for one in self.metrics
            ],
            "flow_run_id": self.flow_run_id,
            "url": self.url,
        }


def report_of(
    batch: Batch,
    tally: Tally,
    metrics: Sequence[MetricSummary],
    *,
    not_tried_again: int = 0,
    flow_run_id: str | None = None,
    url: str | None = None,
) -> BatchReport:
    """The report of a batch whose scorings were counted."""
    statuses: Counter[str] = Counter()
    for (_, status), number in tally.statuses.items():
        statuses[status] += number
    return BatchReport(
        sessions=batch.session_ids,
        evaluators=tuple(judge.requested.reference for judge in batch.judges),
        params=tuple(dict(judge.requested.params or {}) for judge in batch.judges),
        params_digests=tuple(judge.requested.params_digest for judge in batch.judges),
        total=batch.total,
        reused=batch.total - batch.to_do,
        stood_unscored=batch.stood_unscored,
        statuses={status: number for status, number in statuses.items() if number},
        unscored=tuple(tally.unscored[:UNSCORED_SHOWN]),
        not_tried_again=not_tried_again,
        lost=tuple(tally.lost),
        in_progress=batch.in_progress,
        metrics=tuple(metrics),
        flow_run_id=flow_run_id,
        url=url,
    )
