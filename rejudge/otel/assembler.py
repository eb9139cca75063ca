"""Sessions out of any amount of spans, together with what a store already holds of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

from rejudge.models.recording import Recording
from rejudge.otel.assembly import assemble_group
from rejudge.otel.grouping import Group, Keys, groups_of
from rejudge.otel.options import Options
from rejudge.otel.packing import unpack
from rejudge.otel.redaction import redacted
from rejudge.otel.span import Batch, LogRecord, Span
from rejudge.otel.spill import Spill
from rejudge.otel.stitching import stitches


@dataclass(frozen=True, slots=True)
class Known:
    """What a store already holds of some traces: one session."""

    session_id: str
    trace_ids: tuple[str, ...]
    spans: bytes
    """As `Recording.spans` was."""


Lookup: TypeAlias = Callable[[Collection[str], Collection[tuple[str, str]]], Iterable[Known]]
"""From trace ids, and from (source, external id) pairs, to the sessions a store holds of them, each once."""


def nothing_known(trace_ids: Collection[str], keys: Collection[tuple[str, str]]) -> Iterable[Known]:
    """The lookup of an empty store."""
    return ()


def assemble(
    spans: Iterable[Span], records: Iterable[LogRecord] = (), options: Options | None = None
) -> list[Recording]:
    """The sessions of some spans and log records that are all in memory, in the order of their first span."""
    options = options or Options()
    batch = redacted(Batch(list(spans), list(records)), options)
    return list(_of_batch(batch, nothing_known, options, _stitched(batch, options)))


class Assembler:
    """Collects spans and makes sessions of them; what does not fit into memory waits in a temporary file.

    Example:
        >>> with Assembler() as assembler:
        ...     assembler.add(Batch())
        ...     list(assembler.recordings())
        []
    """

    def __init__(self, options: Options | None = None, *, keep_in_memory: int = 20_000) -> None:
        """Start with nothing.

        Args:
            options: How spans become sessions.
            keep_in_memory: Spans and records beyond which they go to disk.
        """
        self.options = options or Options()
        self._spill = Spill(keep_in_memory, self.options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget everything and remove the temporary file."""
        self._spill.close()

    def add(self, batch: Batch) -> None:
        """Take the spans and records of a batch."""
        self._spill.add(redacted(batch, self.options))

    def recordings(self, known: Lookup = nothing_known) -> Iterator[Recording]:
        """The sessions of all that was added, united with what a store holds of the same traces and ids.

        Each known session is named in ``replaces`` of exactly one recording: the one that holds most of its traces.

        Args:
            known: Asked for what is stored. It may be asked several times, and for the same trace twice.
        """
        if not self._spill.is_spilled:
            batch = self._spill.take()
            yield from _of_batch(batch, known, self.options, _stitched(batch, self.options))
            return
        keys = self._keys_of_all()
        with Spill(self._spill.limit, self.options) as keyed:
            for bucket, batch in self._spill.batches():
                yield from self._at_home(bucket, batch, known, keys, keyed)
            for _, batch in keyed.batches():
                yield from _of_batch(batch, known, self.options, keys)

    def _at_home(self, bucket: int, batch: Batch, known: Lookup, keys: Keys, keyed: Spill) -> Iterator[Recording]:
        """The sessions that lie in this bucket whole; all others are put aside, by session."""
        united, stored = _united(batch, known(trace_ids_of(batch), ()))
        groups = groups_of(united.spans, united.logs, self.options, keys)
        # Another bucket may hold spans of the stored sessions' other traces that name no session.
        elsewhere = {trace_id for one in stored.values() if len(one.trace_ids) > 1 for trace_id in one.trace_ids}
        whole = [group for group in groups if group.is_named and self._is_whole(group, bucket, keys, elsewhere)]
        if whole:
            more = known((), [(group.source, group.external_id) for group in whole])
            whole = whole if all(one.session_id in stored for one in more) else []
        alone = [group for group in groups if not group.is_named]
        kept = set(map(id, whole)) | set(map(id, alone))
        shared = [group for group in groups if id(group) not in kept]
        # What is stored of the shared ones is asked for again when the whole session is together.
        keyed.add_keyed(_only_new(shared, batch) if stored else shared)
        yield from _assembled([*alone, *whole], stored, self.options)

    def _is_whole(self, group: Group, bucket: int, keys: Keys, elsewhere: set[str]) -> bool:
        if not self._spill.homes.is_only_in(group.external_id, bucket):
            return False
        return elsewhere.isdisjoint(group.trace_ids) and not any(trace_id in keys for trace_id in group.trace_ids)

    def _keys_of_all(self) -> Keys:
        if not self.options.stitch:
            return {}
        groups = (
            group for _, batch in self._spill.batches() for group in groups_of(batch.spans, batch.logs, self.options)
        )
        return stitches(groups)


def _stitched(batch: Batch, options: Options) -> Keys:
    return stitches(groups_of(batch.spans, batch.logs, options)) if options.stitch else {}


def _of_batch(batch: Batch, known: Lookup, options: Options, keys: Keys) -> Iterator[Recording]:
    """The sessions of a batch that holds everything new of each of them."""
    found = list(known(trace_ids_of(batch), ()))
    if found:
        same, batch, found = _same_as_stored(batch, found, options, keys)
        yield from same
    united, stored = _united(batch, found)
    groups = groups_of(united.spans, united.logs, options, keys)
    named = [(group.source, group.external_id) for group in groups if group.is_named]
    if named:
        unseen = [one for one in known((), named) if one.session_id not in stored]
        for one in unseen:
            _add(one, united, stored)
        if unseen:
            groups = groups_of(united.spans, united.logs, options, keys)
    yield from _assembled(groups, stored, options)


def trace_ids_of(batch: Batch) -> set[str]:
    """The traces that a batch holds something of."""
    trace_ids = {span.trace_id for span in batch.spans}
    trace_ids.update(record.trace_id for record in batch.logs if record.trace_id)
    return trace_ids


def _same_as_stored(
    batch: Batch, found: list[Known], options: Options, keys: Keys
) -> tuple[list[Recording], Batch, list[Known]]:
    """The sessions that came again just as they are stored, and what is left of the batch and of what is stored.

    They are assembled again all the same, for what a trace means may have changed since; but nothing is unpacked.
    """
    stored = {frozenset(one.trace_ids): one for one in found if one.spans}
    same: list[Recording] = []
    settled: set[str] = set()
    for group in groups_of(batch.spans, batch.logs, options, keys):
        whole = all(record.trace_id for record in group.records)  # others would stay behind
        one = stored.get(frozenset(group.trace_ids)) if whole else None
        recording = assemble_group(group, options) if one is not None else None
        if one is not None and recording is not None and recording.spans == one.spans:
            same.append(replace(recording, replaces=(one.session_id,)))
            settled |= group.trace_ids
    if not settled:
        return [], batch, found
    spans = [span for span in batch.spans if span.trace_id not in settled]
    records = [record for record in batch.logs if record.trace_id not in settled]
    return same, Batch(spans, records), [one for one in found if settled.isdisjoint(one.trace_ids)]


def _united(batch: Batch, found: Iterable[Known]) -> tuple[Batch, dict[str, Known]]:
    """A batch with what is stored of its traces, and the sessions that hold it."""
    united = Batch(list(batch.spans), list(batch.logs))
    stored: dict[str, Known] = {}
    for one in found:
        if one.session_id not in stored:
            _add(one, united, stored)
    return united, stored


def _add(one: Known, united: Batch, stored: dict[str, Known]) -> None:
    stored[one.session_id] = one
    held = unpack(one.spans)
    united.spans += held.spans
    united.logs += held.logs


def _only_new(groups: list[Group], batch: Batch) -> Iterator[Group]:
    new_spans, new_records = set(map(id, batch.spans)), set(map(id, batch.logs))
    for group in groups:
        spans = [span for span in group.spans if id(span) in new_spans]
        records = [record for record in group.records if id(record) in new_records]
        yield replace(group, spans=spans, records=records)


def _assembled(groups: list[Group], stored: dict[str, Known], options: Options) -> Iterator[Recording]:
    if not stored:
        for group in groups:
            recording = assemble_group(group, options)
            if recording is not None:
                yield recording
        return
    recordings = [made for group in groups if (made := assemble_group(group, options)) is not None]
    replaced: dict[int, list[str]] = {}
    for one in stored.values():
        traces = set(one.trace_ids)
        shares = [len(traces.intersection(recording.trace_ids)) for recording in recordings]
        if shares and max(shares) > 0:
            replaced.setdefault(shares.index(max(shares)), []).append(one.session_id)
    for position, recording in enumerate(recordings):
        ids = replaced.get(position)
        yield replace(recording, replaces=tuple(ids)) if ids else recording
