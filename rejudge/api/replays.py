"""Replays from Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rejudge.models.requests import ReplayRequest
from rejudge.store.engine import Database
from rejudge.store.replays import Replay, find_replay, list_replays
from rejudge.store.selecting import resolve_ids

if TYPE_CHECKING:
    from rejudge.tasks.replay_frame import ReplayReport
    from rejudge.tasks.surroundings import Progress


class Replays:
    """Re-runs of sessions, unchanged or as forks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run(
        self,
        request: ReplayRequest,
        *,
        ephemeral: bool = False,
        say: Callable[[str], None] = lambda _: None,
        progress: Callable[[Progress], None] | None = None,
    ) -> ReplayReport:
        """Replays a session as a flow run, scores the result, and waits.

        The same replay asked for again is the one that exists, unless ``request.again``.

        Args:
            ephemeral: Use Prefect's temporary server instead of the one in the background.
            say: Told in one line what a person should know.
            progress: Called as things are done.

        Raises:
            NotFound: Where the session, the agent, the fork point or an evaluator is not there.
            UsageError: Where the session cannot be replayed.
        """
        from rejudge.tasks.runs import run_replay

        return run_replay(self._database, request, ephemeral=ephemeral, say=say, progress=progress)

    def get(self, reference: str | int) -> Replay:
        """A replay by number, id, or the id of its result session."""
        return find_replay(self._database, str(reference))

    def list(self, *, session: str | None = None, experiment_run_id: str | None = None) -> Sequence[Replay]:
        """Replays by number: of one baseline session, of one experiment run, or all."""
        baseline = None
        if session is not None:
            with self._database.read() as connection:
                [baseline] = resolve_ids(connection, [session])
        return list_replays(self._database, baseline_session_id=baseline, experiment_run_id=experiment_run_id)
