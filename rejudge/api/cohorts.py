"""Cohorts from Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rejudge.api.sessions import as_selection
from rejudge.store.cohorts import (
    CohortVersion,
    add_cohort_version,
    cohort_members,
    create_cohort,
    find_cohort_version,
    list_cohort_versions,
)
from rejudge.store.engine import Database
from rejudge.store.selecting import select_sessions


@dataclass(frozen=True, slots=True)
class CohortDifference:
    """What two versions of a cohort do not share."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    kept: int
    reordered: bool


class Cohorts:
    """Named, immutable, ordered lists of sessions of one agent."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, name: str, **selection: Any) -> CohortVersion:
        """Version 1 of a new cohort, of the sessions selected (``ids``, ``tag``, ``agent``, ``filter``, ``all``).

        Raises:
            Conflict: Where there is one of this name.
        """
        chosen = as_selection(selection)
        found = select_sessions(self._database, chosen)
        return create_cohort(self._database, name, found.session_ids, selection=str(chosen))

    def version(self, name: str, **selection: Any) -> tuple[CohortVersion, bool]:
        """The next version of a cohort, and whether it is new: the same list again is the same version."""
        chosen = as_selection(selection)
        found = select_sessions(self._database, chosen)
        return add_cohort_version(self._database, name, found.session_ids, selection=str(chosen))

    def get(self, reference: str) -> CohortVersion:
        """The version that ``name@2``, ``name@latest`` or a bare name stands for."""
        return find_cohort_version(self._database, reference)

    def members(self, reference: str) -> list[str]:
        """Its sessions' ids, in order."""
        return cohort_members(self._database, self.get(reference))

    def list(self, name: str | None = None) -> list[CohortVersion]:
        """Every version, of one cohort or of all."""
        return list_cohort_versions(self._database, name)

    def diff(self, first: str, second: str) -> CohortDifference:
        """What the second version has and the first has not, and the other way round."""
        before, after = self.members(first), self.members(second)
        kept = [one for one in after if one in set(before)]
        return CohortDifference(
            added=tuple(one for one in after if one not in set(before)),
            removed=tuple(one for one in before if one not in set(after)),
            kept=len(kept),
            reordered=kept != [one for one in before if one in set(after)],
        )
