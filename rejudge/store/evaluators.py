"""Registered evaluators: names, numbered versions, and what each needs to run."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update

from rejudge.errors import NotFound
from rejudge.store.engine import Database
from rejudge.store.ids import new_id, now
from rejudge.store.locks import alone
from rejudge.store.references import Reference, parse_reference
from rejudge.store.tables import core


@dataclass(frozen=True, slots=True)
class EvaluatorVersion:
    """One version of an evaluator."""

    id: str
    name: str
    number: int
    fingerprint: str
    spec: dict[str, Any]
    """Everything needed to run it, as the scoring room wrote it."""
    created_at: datetime
    deleted: bool = False


def register_evaluator(
    database: Database, name: str, fingerprint: str, spec: dict[str, Any]
) -> tuple[EvaluatorVersion, bool]:
    """The version of this fingerprint, and whether it is new.

    The same fingerprint again is the same version; another one is the next version. A deleted name comes back with
    its history.
    """
    with database.write() as connection:
        alone(connection, "evaluator", name)
        evaluator, version = core.evaluators.c, core.evaluator_versions.c
        evaluator_id = connection.execute(select(evaluator.id).where(evaluator.name == name)).scalar()
        if evaluator_id is None:
            evaluator_id = new_id()
            connection.execute(insert(core.evaluators).values(id=evaluator_id, name=name, created_at=now()))
        connection.execute(update(core.evaluators).where(evaluator.id == evaluator_id).values(deleted_at=None))
        found = connection.execute(
            select(version.id, version.number, version.spec, version.created_at).where(
                version.evaluator_id == evaluator_id, version.fingerprint == fingerprint
            )
        ).one_or_none()
        if found is not None:
            return EvaluatorVersion(found[0], name, found[1], fingerprint, found[2], found[3]), False
        last = connection.execute(
            select(func.max(version.number)).where(version.evaluator_id == evaluator_id)
        ).scalar()
        made = EvaluatorVersion(new_id(), name, (last or 0) + 1, fingerprint, spec, now())
        connection.execute(
            insert(core.evaluator_versions).values(
                id=made.id,
                evaluator_id=evaluator_id,
                number=made.number,
                fingerprint=fingerprint,
                spec=spec,
                created_at=made.created_at,
            )
        )
        return made, True


def restore_evaluator_version(database: Database, version: EvaluatorVersion, spec: dict[str, Any]) -> None:
    """Puts a version's content back as it was registered, after its stored content was damaged."""
    with database.write() as connection:
        stored = core.evaluator_versions
        connection.execute(update(stored).where(stored.c.id == version.id).values(spec=spec))


def find_evaluator_version(database: Database, reference: str, *, bare: bool = False) -> EvaluatorVersion:
    """The version that ``name@3`` or ``name@latest`` stands for.

    Args:
        bare: Whether a name alone means its latest version.

    Raises:
        NotFound: Where it is not there, or was deleted.
        UsageError: For a reference without a version where that is not allowed.
    """
    wanted = parse_reference(reference, kind="evaluator", bare=bare)
    versions = list_evaluator_versions(database, wanted.name, deleted=True)
    found = [one for one in versions if not one.deleted and wanted.number in (None, one.number)]
    if not found:
        raise _not_found(database, wanted, versions)
    return found[-1]


def newest_number(database: Database, name: str) -> int | None:
    """The number of an evaluator's newest version, deleted or not; None where there was never one."""
    versions = list_evaluator_versions(database, name, deleted=True)
    return versions[-1].number if versions else None


def _not_found(database: Database, wanted: Reference, versions: Sequence[EvaluatorVersion]) -> NotFound:
    name = wanted.name
    if not versions:
        near = difflib.get_close_matches(name, {one.name for one in list_evaluator_versions(database)}, n=1)
        mend = f"list them: rejudge evaluator list, or register it: rejudge evaluator register {name} --script FILE"
        return NotFound(f"no evaluator {name!r}", mend=f"did you mean {near[0]}@latest?" if near else mend)
    if versions[-1].deleted:
        return NotFound(
            f"evaluator {name!r} was deleted; its rows are there",
            mend=f"registering it again brings its versions back: rejudge evaluator register {name} --script FILE",
        )
    numbers = ", ".join(str(one.number) for one in versions[-10:])
    return NotFound(
        f"evaluator {name!r} has no version {wanted.number}", mend=f"it has {numbers}; its newest is {name}@latest"
    )


def list_evaluator_versions(
    database: Database, name: str | None = None, *, deleted: bool = False
) -> list[EvaluatorVersion]:
    """Every version of an evaluator, or of all, by name and number.

    Args:
        deleted: Show the deleted ones too.
    """
    evaluator, version = core.evaluators.c, core.evaluator_versions.c
    query = (
        select(
            version.id,
            evaluator.name,
            version.number,
            version.fingerprint,
            version.spec,
            version.created_at,
            evaluator.deleted_at.is_not(None),
        )
        .join(core.evaluators, evaluator.id == version.evaluator_id)
        .order_by(evaluator.name, version.number)
    )
    if name is not None:
        query = query.where(evaluator.name == name)
    if not deleted:
        query = query.where(evaluator.deleted_at.is_(None))
    with database.read() as connection:
        return [EvaluatorVersion(*tuple(row)) for row in connection.execute(query)]


def delete_evaluator(database: Database, name: str) -> None:
    """Hides an evaluator from listing and use. No version and no row is removed.

    Raises:
        NotFound: Where there is none of this name, or it is hidden already.
    """
    with database.write() as connection:
        evaluator = core.evaluators.c
        changed = connection.execute(
            update(core.evaluators)
            .where(evaluator.name == name, evaluator.deleted_at.is_(None))
            .values(deleted_at=now())
        )
        if changed.rowcount == 0:
            raise NotFound(f"no evaluator {name!r}", mend="list them: rejudge evaluator list")
