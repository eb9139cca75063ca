"""Sessions from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rejudge.api.tags import checked_tags
from rejudge.errors import UsageError
from rejudge.models.recording import Recording
from rejudge.models.selection import Selection
from rejudge.models.session import Session, SessionView
from rejudge.store.engine import Database
from rejudge.store.reading import load_views
from rejudge.store.selecting import Selected, list_sessions, resolve_ids, select_sessions
from rejudge.store.writing import Placement, Saved, add_tags, save_recordings

if TYPE_CHECKING:
    from rejudge.api.exporting import Exported, Format
    from rejudge.api.importing import ImportProgress, ImportReport
    from rejudge.api.receiving import Arrival, Receiver, Reception
    from rejudge.api.tables import What
    from rejudge.models.lineage import Lineage
    from rejudge.models.session_diff import SessionDiff
    from rejudge.otel import Options
    from rejudge.otel.export import Sent


class Sessions:
    """Recorded runs: importing, listing, reading, tagging."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def import_(
        self,
        *paths: str | Path,
        agent: str,
        tag: str | Sequence[str] = (),
        options: Options | None = None,
        stdin: BinaryIO | None = None,
        progress: Callable[[ImportProgress], None] | None = None,
    ) -> ImportReport:
        """Imports traces from files, folders or globs as sessions of an agent.

        Args:
            tag: One tag or several, put on every session met.
            options: Joining, redaction, leaving content out.
            stdin: Where ``-`` reads from.
            progress: Called now and then with how far it has come.
        """
        from rejudge.api.importing import import_traces

        return import_traces(
            self._database,
            paths,
            agent=agent,
            tags=checked_tags(tag),
            options=options,
            stdin=stdin,
            progress=progress,
        )

    def receive(
        self, reception: Reception, *, on_arrival: Callable[[Sequence[Arrival]], None] = lambda _: None
    ) -> Receiver:
        """An OTLP/HTTP endpoint whose spans become sessions; a context manager, see `Receiver`.

        Args:
            on_arrival: Told of sessions that were stored or changed, from a thread of the receiver's own.
        """
        from rejudge import settings
        from rejudge.api.receiving import Receiver

        return Receiver(
            self._database, reception, folder=settings.current().folder / "received", on_arrival=on_arrival
        )

    def save(
        self, recording: Recording, *, agent: str, origin: str | None = None, tag: str | Sequence[str] = ()
    ) -> Saved:
        """Stores one assembled session, as the recorder does."""
        placement = Placement(agent=agent, tags=checked_tags(tag), origin=origin)
        return save_recordings(self._database, [recording], placement)[0]

    def list(self, *, limit: int | None = None, newest_first: bool = False, **selection: Any) -> list[Session]:
        """Sessions without their nodes, by number.

        Args:
            selection: At most one of ``ids``, ``tag``, ``agent``, ``cohort``, ``filter``; all sessions where none.
        """
        return list_sessions(
            self._database, as_selection(selection) if selection else None, limit=limit, newest_first=newest_first
        )

    def select(self, selection: Selection, *, ended: bool = True) -> Selected:
        """The ids of the sessions that a selection names.

        Args:
            ended: Leave out those still in progress, and count them.

        Raises:
            NotFound: Where nothing matches.
        """
        return select_sessions(self._database, selection, ended=ended)

    def export(
        self,
        session_ids: Sequence[str],
        target: str | Path | BinaryIO,
        *,
        format: Format,
        what: What = "sessions",
    ) -> Exported:
        """Writes sessions, or what belongs to them, to a file or a stream (see `rejudge.api.exporting.export`)."""
        from rejudge.api.exporting import export

        return export(self._database, session_ids, target, format=format, what=what)

    def send_evaluations(
        self, session_ids: Sequence[str], endpoint: str, *, headers: Mapping[str, str] | None = None
    ) -> Sent:
        """Sends what was judged of sessions to an OTLP/HTTP endpoint, as events.

        Args:
            endpoint: A URL; without a path, ``/v1/logs`` is added.
            headers: Sent with every request.

        Raises:
            PartialFailure: Where the endpoint does not take a part of them.
        """
        from rejudge.api.exporting import send_evaluations

        return send_evaluations(self._database, session_ids, endpoint, headers=headers)

    def get(self, reference: str | int) -> SessionView:
        """One session with its nodes, by id, number, or an unambiguous beginning of its id.

        Raises:
            NotFound: Where it is not there.
        """
        return self.get_many([str(reference)])[0]

    def get_many(self, references: Sequence[str]) -> Sequence[SessionView]:
        """Several sessions with their nodes, in this order."""
        with self._database.read() as connection:
            ids = resolve_ids(connection, references)
        return load_views(self._database, ids)

    def diff(self, baseline: str | int, replay: str | int) -> SessionDiff:
        """Two sessions step by step, and where they part.

        Raises:
            NotFound: Where one of them is not there.
        """
        from rejudge.replay.diff import session_diff

        return session_diff(*self.get_many([str(baseline), str(replay)]))

    def tree(self, reference: str | int) -> Lineage:
        """Where a session comes from, and everything that was made of it and of its relations."""
        from rejudge.store.lineage import lineage_of

        return lineage_of(self._database, str(reference))

    def tag(self, selection: Selection, *tags: str) -> int:
        """Puts tags on sessions; returns how many sessions it met."""
        if not tags:
            raise UsageError("no tag given", mend="name at least one tag")
        found = select_sessions(self._database, selection, ended=False)
        with self._database.write() as connection:
            add_tags(connection, found.session_ids, checked_tags(tags))
        return len(found.session_ids)


def as_selection(fields: dict[str, Any]) -> Selection:
    """A selection out of keyword arguments.

    Raises:
        UsageError: Where none or several ways are given.
    """
    from pydantic import ValidationError

    if isinstance(fields.get("ids"), list | tuple):
        fields = {**fields, "ids": tuple(map(str, fields["ids"]))}
    try:
        return Selection(**fields)
    except ValidationError as error:
        first = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise UsageError(first, mend="select by ids, tag, agent, cohort, filter, or all") from error
