"""A recorded run on its way into the store."""

from __future__ import annotations

from typing import Any, Final

from rejudge.models.recording import Recording
from rejudge.otel.packing import unpack
from rejudge.otel.run import assemble_run
from rejudge.otel.span import Batch

SOURCE: Final = "rejudge"
"""Source of the sessions that we record ourselves."""


def recording_of(batch: Batch, external_id: str) -> Recording | None:
    """The session of a run; None where nothing was heard of it."""
    return assemble_run(batch, source=SOURCE, external_id=external_id)


def store_run(batch: Batch, *, agent: str, external_id: str, tag: str | tuple[str, ...]) -> Any:
    """Store a run; what the store gives back.

    A session of that id that is there already goes on: the runs of a conversation are one session.
    """
    import rejudge
    from rejudge.api.importing import known_sources  # imports SQLAlchemy, which an agent pays for when it stores

    with rejudge.open() as store:
        for held in known_sources(store.database, agent)(set(), {(SOURCE, external_id)}):
            earlier = unpack(held.spans)
            batch = Batch([*earlier.spans, *batch.spans], [*earlier.logs, *batch.logs])
        recording = recording_of(batch, external_id)
        if recording is None:
            return None
        return store.sessions.save(recording, agent=agent, origin="recorded", tag=tag)
