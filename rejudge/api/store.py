"""Opening a store."""

from __future__ import annotations

from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rejudge import settings
from rejudge.store.engine import Database, connect
from rejudge.store.schema import prepare

if TYPE_CHECKING:
    from rejudge.api.agents import Agents
    from rejudge.api.cohorts import Cohorts
    from rejudge.api.evaluations import Evaluations
    from rejudge.api.evaluators import Evaluators
    from rejudge.api.experiments import Experiments
    from rejudge.api.labels import Labels
    from rejudge.api.replays import Replays
    from rejudge.api.sessions import Sessions


class Store:
    """Sessions, evaluators, evaluations, labels, agents, cohorts, replays and experiments of one database."""

    # Each noun is imported when it is asked for: a command works with one or two of them.

    def __init__(self, database: Database) -> None:
        self.database = database

    @cached_property
    def sessions(self) -> Sessions:
        """Recorded runs."""
        from rejudge.api.sessions import Sessions

        return Sessions(self.database)

    @cached_property
    def evaluators(self) -> Evaluators:
        """Registered and built-in evaluators."""
        from rejudge.api.evaluators import Evaluators

        return Evaluators(self.database)

    @cached_property
    def evaluations(self) -> Evaluations:
        """Batches of scorings, and what they gave."""
        from rejudge.api.evaluations import Evaluations

        return Evaluations(self.database)

    @cached_property
    def labels(self) -> Labels:
        """Human evaluations."""
        from rejudge.api.labels import Labels

        return Labels(self.database)

    @cached_property
    def agents(self) -> Agents:
        """Programs under test and their versions."""
        from rejudge.api.agents import Agents

        return Agents(self.database)

    @cached_property
    def cohorts(self) -> Cohorts:
        """Immutable ordered lists of sessions."""
        from rejudge.api.cohorts import Cohorts

        return Cohorts(self.database)

    @cached_property
    def replays(self) -> Replays:
        """Re-runs of sessions."""
        from rejudge.api.replays import Replays

        return Replays(self.database)

    @cached_property
    def experiments(self) -> Experiments:
        """Named changes and their runs."""
        from rejudge.api.experiments import Experiments

        return Experiments(self.database)

    def close(self) -> None:
        """Gives the database connections back."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()


def open(url: str | None = None) -> Store:
    """The store at a database URL, made ready where it is new.

    Args:
        url: ``sqlite:///path`` or ``postgresql://…``; None: ``REJUDGE_DATABASE_URL``, else SQLite in ``.rejudge/``
            of the current folder.

    Raises:
        UsageError: For a URL that cannot be used.
        StoreError: Where the database cannot be reached, or has another schema version.
    """
    database = connect(url or settings.current().database_url)
    prepare(database)
    return Store(database)
