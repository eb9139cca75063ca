"""From trace files to stored sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from rejudge.api.tags import checked_tags
from rejudge.models.recording import Recording
from rejudge.otel import Assembler, Batch, Known, Options, Refusal, read
from rejudge.otel.collecting import CollectingLater
from rejudge.store.engine import Database
from rejudge.store.sources import sources_of
from rejudge.store.writing import Placement, Saved, save_recordings

NODES_A_TRANSACTION: Final = 2500
"""How many nodes, about, are written at once: a killed import loses at most that many, in whole sessions."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import came to."""

    new: int = 0
    updated: int = 0
    unchanged: int = 0
    refused: tuple[Refusal, ...] = ()
    session_ids: tuple[str, ...] = field(default=(), repr=False)
    """Of all sessions met, in the order they were written."""


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import has come."""

    bytes_read: int
    sessions: int


def import_traces(
    database: Database,
    paths: Sequence[str | Path],
    *,
    agent: str,
    tags: Sequence[str] = (),
    options: Options | None = None,
    stdin: BinaryIO | None = None,
    progress: Callable[[ImportProgress], None] | None = None,
) -> ImportReport:
    """Reads traces and stores them as sessions of an agent.

    The same traces again change nothing; more spans of a known session update it. What cannot be read is refused
    with its place and reason, and costs only itself.

    Args:
        paths: Files, folders, globs, or ``-`` for `stdin`.
        tags: Put on every session met.
        progress: Called now and then.

    Raises:
        UsageError: For an agent's name or a tag that is not allowed.
    """
    placement = Placement(agent=agent, tags=checked_tags(tags))
    refused: list[Refusal] = []
    counted = _Progress(progress)
    with CollectingLater():
        batches = read(paths, refuse=refused.append, stdin=stdin, progress=counted.add_bytes)
        saved = _save(database, batches, placement, options or Options(), counted)
    outcomes = Counter(one.outcome for one in saved)
    return ImportReport(
        new=outcomes["new"],
        updated=outcomes["updated"],
        unchanged=outcomes["unchanged"],
        refused=tuple(refused),
        session_ids=tuple(dict.fromkeys(one.session_id for one in saved)),
    )


def _save(
    database: Database, batches: Iterable[Batch], placement: Placement, options: Options, counted: _Progress
) -> list[Saved]:
    saved: list[Saved] = []
    with Assembler(options) as assembler:
        for batch in batches:
            assembler.add(batch)
        for group in in_transactions(assembler.recordings(known_sources(database, placement.agent))):
            saved += save_recordings(database, group, placement)
            counted.set_sessions(len(saved))
    return saved


def known_sources(database: Database, agent: str) -> Callable[..., Iterable[Known]]:
    """Finds the stored spans that new ones of an agent may join: what an `Assembler` asks for."""

    def known(trace_ids: set[str], keys: set[tuple[str, str]]) -> Iterator[Known]:
        for one in sources_of(database, agent, trace_ids, keys):
            yield Known(one.session_id, one.trace_ids, one.spans)

    return known


def in_transactions(recordings: Iterable[Recording]) -> Iterator[list[Recording]]:
    """Recordings in groups that are written together."""
    group: list[Recording] = []
    nodes = 0
    for recording in recordings:
        group.append(recording)
        nodes += len(recording.view.nodes) + 1
        if nodes >= NODES_A_TRANSACTION:
            yield group
            group, nodes = [], 0
    if group:
        yield group


class _Progress:
    def __init__(self, report: Callable[[ImportProgress], None] | None) -> None:
        self._report = report
        self._bytes = 0
        self._sessions = 0

    def add_bytes(self, count: int) -> None:
        self._bytes += count
        self._tell()

    def set_sessions(self, count: int) -> None:
        self._sessions = count
        self._tell()

    def _tell(self) -> None:
        if self._report is not None:
            self._report(ImportProgress(self._bytes, self._sessions))
