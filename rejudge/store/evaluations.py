"""Reading evaluations and scorings; adding labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Select, insert, or_, select
from sqlalchemy.exc import IntegrityError

from rejudge.errors import Conflict
from rejudge.models.evaluation import EvaluationResult
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now
from rejudge.store.tables import core
from rejudge.store.types import storable

_MEND: Final = "use another name: a label is unique in its session"
_LABELS_AT_ONCE: Final = 1_000


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One stored evaluation, or a label where ``scoring_id`` is None."""

    id: str
    session_id: str
    scoring_id: str | None
    evaluator: str | None
    evaluator_version: int | None
    fingerprint: str | None
    params: dict[str, Any] | None
    params_digest: str | None
    name: str
    data_type: str
    score: float | bool | None
    value: str | None
    passed: bool | None
    explanation: str | None
    evidence: Any
    min_score: float | None
    max_score: float | None
    target_score: float | None
    direction: str
    unscored: str | None
    cost: Decimal | None
    input_tokens: int | None
    output_tokens: int | None
    model: str | None
    author: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Scoring:
    """One stored scoring: how a unit of scoring work ended."""

    id: str
    session_id: str
    session_digest: str
    evaluator: str
    evaluator_version: int
    fingerprint: str
    params: dict[str, Any] | None
    params_digest: str
    status: str
    error: str | None
    retryable: bool
    attempts: int
    started_at: datetime | None
    duration_seconds: float | None
    cost: Decimal | None
    flow_run_id: str | None
    task_run_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows to read; every field narrows."""

    session_ids: Sequence[str] | None = None
    evaluator: str | None = None
    evaluator_version: int | None = None
    name: str | None = None
    flow_run_id: str | None = None
    statuses: Sequence[str] | None = None
    labels: bool | None = None
    """True: labels only; False: no labels; None: both."""
    history: bool = False
    """Superseded rows too."""


@dataclass(frozen=True, slots=True)
class Label:
    """One human evaluation on its way into the store."""

    session_id: str
    result: EvaluationResult
    author: str | None = None
    where: str = ""
    """Where it was written, such as ``labels.csv:3``: messages begin with it."""


def list_evaluations(database: Database, wanted: Wanted, *, limit: int | None = None) -> list[Evaluation]:
    """Evaluations and labels, in the order they were made."""
    evaluation, scoring = core.evaluations.c, core.scorings.c
    query = select(*(evaluation[name] for name in Evaluation.__slots__)).outerjoin(
        core.scorings, scoring.id == evaluation.scoring_id
    )
    if wanted.evaluator is not None:
        query = query.where(evaluation.evaluator == wanted.evaluator)
    if wanted.evaluator_version is not None:
        query = query.where(evaluation.evaluator_version == wanted.evaluator_version)
    if wanted.name is not None:
        query = query.where(evaluation.name == wanted.name)
    if wanted.labels is not None:
        query = query.where(evaluation.scoring_id.is_(None) if wanted.labels else evaluation.scoring_id.is_not(None))
    if wanted.flow_run_id is not None:
        query = query.where(scoring.flow_run_id == wanted.flow_run_id)
    if not wanted.history:
        query = query.where(or_(evaluation.scoring_id.is_(None), scoring.superseded.is_(False)))
    rows = _rows(database, query.order_by(evaluation.id), evaluation.session_id, wanted.session_ids, limit)
    return [_evaluation(row) for row in rows]


def list_scorings(database: Database, wanted: Wanted, *, limit: int | None = None) -> list[Scoring]:
    """Scorings, in the order they were stored."""
    scoring = core.scorings.c
    query = select(*(scoring[name] for name in Scoring.__slots__))
    if wanted.evaluator is not None:
        query = query.where(scoring.evaluator == wanted.evaluator)
    if wanted.evaluator_version is not None:
        query = query.where(scoring.evaluator_version == wanted.evaluator_version)
    if wanted.flow_run_id is not None:
        query = query.where(scoring.flow_run_id == wanted.flow_run_id)
    if wanted.statuses is not None:
        query = query.where(scoring.status.in_(list(wanted.statuses)))
    if not wanted.history:
        query = query.where(scoring.superseded.is_(False))
    rows = _rows(database, query.order_by(scoring.id), scoring.session_id, wanted.session_ids, limit)
    return [Scoring(*row) for row in rows]


def add_labels(database: Database, labels: Sequence[Label]) -> list[Evaluation]:
    """Stores labels, all or none.

    Raises:
        Conflict: Where a session has a label of this name already, or gets two at once.
    """
    made = now()
    _check_distinct(labels)
    rows = [_label_row(label, made) for label in labels]
    taken = _taken(database, labels)
    if taken is not None:
        raise _conflict(taken)
    try:
        with database.write() as connection:
            for start in range(0, len(rows), _LABELS_AT_ONCE):
                connection.execute(insert(core.evaluations), rows[start : start + _LABELS_AT_ONCE])
    except IntegrityError as error:
        # Another writer was faster: the unique index decides.
        raise _conflict(_taken(database, labels) or labels[0]) from error
    return [_evaluation(tuple(row[name] for name in Evaluation.__slots__)) for row in rows]


def _taken(database: Database, labels: Sequence[Label]) -> Label | None:
    wanted = Wanted(session_ids=sorted({label.session_id for label in labels}), labels=True)
    stored = {(row.session_id, row.name) for row in list_evaluations(database, wanted)}
    return next((label for label in labels if _key(label) in stored), None)


def _check_distinct(labels: Sequence[Label]) -> None:
    seen: dict[tuple[str, str], Label] = {}
    for label in labels:
        first = seen.setdefault(_key(label), label)
        if first is not label:
            before = f", first at {first.where}" if first.where else ""
            raise Conflict(
                f"{_place(label)}session {label.session_id} is given a label {label.result.name!r} "
                f"twice{before}; nothing was stored",
                mend=_MEND,
            )


def _key(label: Label) -> tuple[str, str]:
    return label.session_id, label.result.name


def _conflict(label: Label) -> Conflict:
    return Conflict(
        f"{_place(label)}session {label.session_id} has a label {label.result.name!r} already; nothing was stored",
        mend=_MEND,
    )


def _place(label: Label) -> str:
    return f"{label.where}: " if label.where else ""


def _label_row(label: Label, made: datetime) -> dict[str, Any]:
    result = label.result
    row: dict[str, Any] = dict.fromkeys(Evaluation.__slots__)
    row.update({name: value for name, value in result.__dict__.items() if name in row})
    row.update({name: storable(row[name]) for name in ("value", "explanation", "unscored", "model")})
    row.update(
        id=new_id(),
        session_id=label.session_id,
        data_type=result.data_type,
        score=None if result.score is None else float(result.score),
        author=storable(label.author),
        created_at=made,
    )
    return row


def _rows(
    database: Database, query: Select[Any], session_id: Any, session_ids: Sequence[str] | None, limit: int | None
) -> list[tuple[Any, ...]]:
    with database.read() as connection:
        if session_ids is None:
            return [tuple(row) for row in connection.execute(query.limit(limit))]
        rows: list[tuple[Any, ...]] = []
        for start in range(0, len(session_ids), 500):
            batch = list(session_ids[start : start + 500])
            rows += [tuple(row) for row in connection.execute(query.where(session_id.in_(batch)).limit(limit))]
        return rows[:limit]


def _evaluation(row: tuple[Any, ...]) -> Evaluation:
    fields = dict(zip(Evaluation.__slots__, row, strict=True))
    if fields["data_type"] == "bool" and fields["score"] is not None:
        fields["score"] = bool(fields["score"])
    return Evaluation(**fields)
