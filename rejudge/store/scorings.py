"""What is still to be scored, and writing how scorings ended: this is the truth and the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from sqlalchemy import Connection, delete, func, select, update

from rejudge.models.evaluation import SETTLED, EvaluationResult
from rejudge.store.bulk import insert_rows
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now
from rejudge.store.tables import core
from rejudge.store.types import storable

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Requested:
    """One evaluator version with one set of params."""

    evaluator: str
    number: int
    fingerprint: str
    params: dict[str, Any] = field(default_factory=dict)
    params_digest: str = ""

    @property
    def reference(self) -> str:
        """``name@number``."""
        return f"{self.evaluator}@{self.number}"


@dataclass(frozen=True, slots=True)
class Ended:
    """How one scoring ended."""

    session_id: str
    session_digest: str
    requested: Requested
    status: str
    results: Sequence[EvaluationResult | Mapping[str, Any]] = ()
    """Validated results, as models or as their plain fields with ``data_type``."""
    error: str | None = None
    retryable: bool = False
    attempts: int = 1
    started_at: datetime | None = None
    duration_seconds: float | None = None
    cost: Decimal | None = None
    flow_run_id: str | None = None
    task_run_id: str | None = None


def settled(database: Database, session_ids: Sequence[str], requested: Requested) -> dict[str, bool]:
    """Those of the sessions that this evaluator need not try, and whether it gave a score.

    It scored them under the same session digest (a late span makes another), fingerprint and params, or ended in a
    way that trying again cannot change.
    """
    scoring, session = core.scorings.c, core.sessions.c
    known: dict[str, bool] = {}
    with database.read() as connection:
        for batch in _batches(session_ids):
            query = (
                select(session.id, scoring.status)
                .join(core.scorings, scoring.session_id == session.id)
                .where(
                    session.id.in_(batch),
                    scoring.session_digest == session.digest,
                    scoring.evaluator == requested.evaluator,
                    scoring.fingerprint == requested.fingerprint,
                    scoring.params_digest == requested.params_digest,
                    scoring.status.in_(sorted(SETTLED)),
                )
            )
            for session_id, status in connection.execute(query):
                known[session_id] = known.get(session_id, False) or status == "scored"
    return known


def write_ended(database: Database, ended: Sequence[Ended], *, force: bool = False) -> int:
    """Stores how scorings ended, with their evaluations, in one transaction.

    A scoring that did not settle earlier (it failed, timed out…) is replaced; one that did stays, so a batch that
    raced with another or was killed and run again adds nothing twice.

    Args:
        force: Add a repetition beside what is there.

    Returns:
        How many were stored.
    """
    if not ended:
        return 0
    with database.write() as connection:
        return _write(connection, ended, force=force)


def scoring_identity(ended: Ended) -> str:
    """32 hex digits over what makes a scoring the same one."""
    requested = ended.requested
    parts = (
        ended.session_id,
        ended.session_digest,
        requested.evaluator,
        requested.fingerprint,
        requested.params_digest,
    )
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _write(connection: Connection, ended: Sequence[Ended], *, force: bool) -> int:
    identities = {scoring_identity(one): one for one in ended}
    newest = _newest(connection, list(identities))
    scorings, evaluations, replaced = [], [], []
    made = now()
    for identity, one in identities.items():
        known = newest.get(identity)
        sequence, attempts = 0, one.attempts
        if known is not None:
            scoring_id, last, status, before = known
            if force:
                sequence = last + 1
            elif status in SETTLED:
                continue
            else:
                replaced.append(scoring_id)
                sequence, attempts = last, before + one.attempts
        row = _scoring_row(identity, one, sequence, attempts, made)
        scorings.append(row)
        evaluations += [_evaluation_row(row, result, made) for result in one.results]
    for batch in _batches(replaced):
        connection.execute(delete(core.evaluations).where(core.evaluations.c.scoring_id.in_(batch)))
        connection.execute(delete(core.scorings).where(core.scorings.c.id.in_(batch)))
    _supersede(connection, scorings)
    insert_rows(connection, core.scorings, scorings)
    insert_rows(connection, core.evaluations, evaluations)
    return len(scorings)


def _newest(connection: Connection, identities: Sequence[str]) -> dict[str, tuple[str, int, str, int]]:
    scoring = core.scorings.c
    found: dict[str, tuple[str, int, str, int]] = {}
    for batch in _batches(identities):
        query = (
            select(scoring.identity, scoring.id, scoring.sequence, scoring.status, scoring.attempts)
            .where(scoring.identity.in_(batch))
            .order_by(scoring.sequence)
        )
        found.update({row[0]: (row[1], row[2], row[3], row[4]) for row in connection.execute(query)})
    return found


def _supersede(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Marks earlier scorings of the same session, evaluator version and params.

    So all rows of the newest scoring are adopted together.
    """
    scoring = core.scorings.c
    wanted = {(row["session_id"], row["evaluator"], row["evaluator_version"], row["params_digest"]) for row in rows}
    session_ids = sorted({key[0] for key in wanted})
    older: list[str] = []
    for batch in _batches(session_ids):
        query = select(
            scoring.id, scoring.session_id, scoring.evaluator, scoring.evaluator_version, scoring.params_digest
        ).where(scoring.session_id.in_(batch), scoring.superseded.is_(False))
        older += [row[0] for row in connection.execute(query) if tuple(row[1:]) in wanted]
    for batch in _batches(older):
        connection.execute(update(core.scorings).where(scoring.id.in_(batch)).values(superseded=True))


def _scoring_row(identity: str, one: Ended, sequence: int, attempts: int, made: datetime) -> dict[str, Any]:
    requested = one.requested
    return {
        "id": new_id(),
        "identity": identity,
        "sequence": sequence,
        "superseded": False,
        "session_id": one.session_id,
        "session_digest": one.session_digest,
        "evaluator": requested.evaluator,
        "evaluator_version": requested.number,
        "fingerprint": requested.fingerprint,
        "params": requested.params or None,
        "params_digest": requested.params_digest,
        "status": one.status,
        "error": storable(one.error),
        "retryable": one.retryable,
        "attempts": attempts,
        "started_at": one.started_at,
        "duration_seconds": one.duration_seconds,
        "cost": one.cost,
        "flow_run_id": one.flow_run_id,
        "task_run_id": one.task_run_id,
        "created_at": made,
    }


_RESULT_FIELDS: Final = (
    "name",
    "value",
    "passed",
    "explanation",
    "evidence",
    "min_score",
    "max_score",
    "target_score",
    "direction",
    "unscored",
    "cost",
    "input_tokens",
    "output_tokens",
    "model",
)


def _evaluation_row(
    scoring: Mapping[str, Any], result: EvaluationResult | Mapping[str, Any], made: datetime
) -> dict[str, Any]:
    if isinstance(result, EvaluationResult):
        fields: Mapping[str, Any] = {**result.__dict__, "data_type": result.data_type}
    else:
        fields = result
    row = {name: fields.get(name) for name in _RESULT_FIELDS}
    row["direction"] = row["direction"] or "none"
    for name in ("value", "explanation", "unscored", "model"):
        row[name] = storable(row[name])
    if row["cost"] is not None:
        row["cost"] = Decimal(str(row["cost"]))
    score = fields.get("score")
    row.update(
        id=new_id(),
        session_id=scoring["session_id"],
        scoring_id=scoring["id"],
        evaluator=scoring["evaluator"],
        evaluator_version=scoring["evaluator_version"],
        fingerprint=scoring["fingerprint"],
        params=scoring["params"],
        params_digest=scoring["params_digest"],
        data_type=fields["data_type"],
        score=None if score is None else float(score),
        author=None,
        created_at=made,
    )
    return row


def count_scorings(database: Database) -> int:
    """How many scorings the store holds."""
    with database.read() as connection:
        return int(connection.execute(select(func.count()).select_from(core.scorings)).scalar_one())


def _batches(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[start : start + _BATCH] for start in range(0, len(values), _BATCH))
