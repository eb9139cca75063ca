"""Spans and log records that came before anything of an agent in their trace did.

Children end before their parents, and log records are often sent before spans: what belongs to no session yet must
wait for the one it belongs to, and outlive the process.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rejudge.otel.grouping import key_of_record
from rejudge.otel.options import Options
from rejudge.otel.packing import pack, unpack
from rejudge.otel.receiver.segments import sync_folder
from rejudge.otel.span import Batch, LogRecord

HELD_SECONDS: Final = 3600.0
"""How long something waits for its session. Other programs' spans come to a receiver too, and never have one."""

HELD_ITEMS: Final = 100_000
"""Spans and records that wait at most."""

_NO_TRACE: Final = "session "

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Covered:
    """What has become part of sessions."""

    trace_ids: set[str] = field(default_factory=set)
    keys: set[tuple[str, str]] = field(default_factory=set)
    """Source and external id of the sessions."""


@dataclass(slots=True)
class _Held:
    batch: Batch
    file: int
    since: float


class Holding:
    """What waits, by trace, in memory and in a folder.

    Args:
        folder: Made where it is not there; used by one receiver at a time.
        options: As sessions are assembled with.
        limit: Spans and records that wait at most; the oldest go first.
        clock: Seconds since the epoch.
    """

    def __init__(
        self, folder: Path, *, options: Options, limit: int = HELD_ITEMS, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder
        self._options = options
        self._limit = limit
        self._clock = clock
        self._held: OrderedDict[str, _Held] = OrderedDict()
        self._traceless: dict[str, None] = {}
        self._files: Counter[int] = Counter()
        self._count = 0
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for number in self._numbers():
            self._add(number, unpack(self._path(number).read_bytes()), self._path(number).stat().st_mtime)
        self._next = max(self._numbers(), default=0) + 1

    def __len__(self) -> int:
        return self._count

    def join(self, batch: Batch) -> Batch:
        """The batch with what has waited for its traces, and for its sessions, before it."""
        if not self._held:
            return batch
        joined = Batch()
        for name in self._joining(batch):
            joined.spans += self._held[name].batch.spans
            joined.logs += self._held[name].batch.logs
        joined.spans += batch.spans
        joined.logs += batch.logs
        return joined

    def settle(self, joined: Batch, covered: Covered) -> None:
        """Keeps what of a joined batch has become part of no session, and lets go of what has.

        Durable when it returns.
        """
        now = self._clock()
        rest = Batch(
            [span for span in joined.spans if span.trace_id not in covered.trace_ids],
            [record for record in joined.logs if self._waits(record, covered)],
        )
        for name in self._joining(joined):
            self._release(name)
        if len(rest):
            number, self._next = self._next, self._next + 1
            self._write(number, pack(rest.spans, rest.logs))
            self._add(number, rest, now)
        self._expire(now)
        self._remove_empty()

    def _joining(self, batch: Batch) -> list[str]:
        """Names of what waits for a batch: its traces' own, and records without a trace, whose session it may be."""
        traces = dict.fromkeys(span.trace_id for span in batch.spans)
        traces |= dict.fromkeys(record.trace_id for record in batch.logs)
        return [*(name for name in traces if name in self._held), *self._traceless]

    def _waits(self, record: LogRecord, covered: Covered) -> bool:
        if record.trace_id:
            return record.trace_id not in covered.trace_ids
        key = key_of_record(record, self._options)
        return key is not None and key not in covered.keys

    def _add(self, number: int, batch: Batch, since: float) -> None:
        parts: dict[str, Batch] = {}
        for span in batch.spans:
            parts.setdefault(span.trace_id, Batch()).spans.append(span)
        for record in batch.logs:
            name = record.trace_id or f"{_NO_TRACE}{key_of_record(record, self._options)}"
            parts.setdefault(name, Batch()).logs.append(record)
        for name, part in parts.items():
            self._release(name)
            self._held[name] = _Held(part, number, since)
            if name.startswith(_NO_TRACE):
                self._traceless[name] = None
            self._files[number] += 1
            self._count += len(part)

    def _release(self, name: str) -> None:
        held = self._held.pop(name, None)
        self._traceless.pop(name, None)
        if held is not None:
            self._files[held.file] -= 1
            self._count -= len(held.batch)

    def _expire(self, now: float) -> None:
        dropped = 0
        while self._held:
            name, oldest = next(iter(self._held.items()))
            if now - oldest.since < HELD_SECONDS and self._count <= self._limit:
                break
            dropped += len(oldest.batch)
            self._release(name)
        if dropped:
            _log.info("%d spans and log records belong to no session of an agent; they were let go", dropped)

    def _remove_empty(self) -> None:
        for number in [number for number, count in self._files.items() if count == 0]:
            del self._files[number]
            self._path(number).unlink(missing_ok=True)

    def _write(self, number: int, data: bytes) -> None:
        path = self._path(number)
        beside = path.with_suffix(".new")
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        sync_folder(self._folder)

    def _numbers(self) -> list[int]:
        return sorted(int(path.stem) for path in self._folder.glob("*.held"))

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:012d}.held"
