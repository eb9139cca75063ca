"""A session as it comes out of traces, on its way into the store."""

from __future__ import annotations

from dataclasses import dataclass

from rejudge.models.session import SessionView


@dataclass(frozen=True, slots=True)
class Recording:
    """One assembled session with what is needed to assemble it again when late spans arrive."""

    view: SessionView
    """``session.source`` and ``session.external_id`` set; ``session.digest`` set; ids and agent are the store's."""
    trace_ids: tuple[str, ...] = ()
    """Lower-case hex ids of the traces it was assembled from."""
    spans: bytes = b""
    """The spans and log records themselves, in the otel room's own compressed form; empty where nothing was kept."""
    replaces: tuple[str, ...] = ()
    """Ids of stored sessions whose traces this one holds; those of another identity are to be removed."""
