"""What a set of sessions was given by their evaluators, counted in the database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, case, func, select

from rejudge.store.engine import Database
from rejudge.store.scorings import Requested
from rejudge.store.tables import core

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One row name of one evaluator version with its params, over some sessions."""

    evaluator: str
    evaluator_version: int
    params_digest: str
    name: str
    data_type: str
    count: int
    """Rows of this name and type."""
    mean: float | None
    """Mean score; the share of true for a bool; None where there is no score."""
    lowest: float | None
    highest: float | None
    passed: int
    failed: int
    """Rows with a verdict, by verdict; the rest was held back or has none."""

    @property
    def result(self) -> str:
        """The rows' name as a table shows it: those without a score stand beside those with one, and say so."""
        return f"{self.name}, unscored" if self.data_type == "unscored" else self.name


def summarize(database: Database, session_ids: Sequence[str], requested: Sequence[Requested]) -> list[MetricSummary]:
    """Every metric that these evaluators gave these sessions, in the evaluators' order and by name."""
    wanted = {(one.evaluator, one.number, one.params_digest): place for place, one in enumerate(requested)}
    parts: dict[tuple[str, int, str, str, str], list[MetricSummary]] = {}
    with database.read() as connection:
        for batch in _batches(session_ids):
            for one in _counted(connection, batch, sorted({name for name, _, _ in wanted})):
                key = (one.evaluator, one.evaluator_version, one.params_digest)
                if key in wanted:
                    parts.setdefault((*key, one.name, one.data_type), []).append(one)
    ordered = sorted(parts, key=lambda key: (wanted[key[:3]], key[3], key[4]))
    return [_together(parts[key]) for key in ordered]


def _counted(connection: Connection, session_ids: Sequence[str], names: Sequence[str]) -> Iterable[MetricSummary]:
    evaluation, scoring = core.evaluations.c, core.scorings.c
    by = (
        evaluation.evaluator,
        evaluation.evaluator_version,
        evaluation.params_digest,
        evaluation.name,
        evaluation.data_type,
    )
    query = (
        select(
            *by,
            func.count(),
            func.avg(evaluation.score),
            func.min(evaluation.score),
            func.max(evaluation.score),
            func.sum(case((evaluation.passed.is_(True), 1), else_=0)),
            func.sum(case((evaluation.passed.is_(False), 1), else_=0)),
        )
        .join(core.scorings, scoring.id == evaluation.scoring_id)
        .where(
            evaluation.session_id.in_(session_ids),
            evaluation.evaluator.in_(names),
            scoring.superseded.is_(False),
        )
        .group_by(*by)
    )
    for row in connection.execute(query):
        mean, lowest, highest = (None if value is None else float(value) for value in row[6:9])
        evaluator, version, digest, name, kind, count = row[:6]
        passed, failed = int(row[9]), int(row[10])
        yield MetricSummary(evaluator, version, digest, name, kind, count, mean, lowest, highest, passed, failed)


def _together(parts: Sequence[MetricSummary]) -> MetricSummary:
    first = parts[0]
    scored = [part for part in parts if part.mean is not None]
    rows = sum(part.count for part in scored)
    total = sum((part.mean or 0.0) * part.count for part in scored)
    lowest = [part.lowest for part in scored if part.lowest is not None]
    highest = [part.highest for part in scored if part.highest is not None]
    return MetricSummary(
        evaluator=first.evaluator,
        evaluator_version=first.evaluator_version,
        params_digest=first.params_digest,
        name=first.name,
        data_type=first.data_type,
        count=sum(part.count for part in parts),
        mean=total / rows if rows else None,
        lowest=min(lowest, default=None),
        highest=max(highest, default=None),
        passed=sum(part.passed for part in parts),
        failed=sum(part.failed for part in parts),
    )


def _batches(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))
