"""The spool: requests on disk between their acknowledgement and their sessions.

What `append` has returned from survives a kill and a power cut. Reading is at least once: after a crash the last
group may be read again, and importing it again changes nothing.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import Final

from rejudge.errors import Conflict, UsageError
from rejudge.otel.receiver.segments import (
    Place,
    Record,
    pack,
    read_records,
    segment_numbers,
    segment_path,
    sync_folder,
)

SEGMENT_BYTES: Final = 16 * 1024 * 1024
"""Size at which the next file is begun."""

_DONE: Final = "done"
_LOCK: Final = "lock"


class SpoolFull(Exception):
    """There is no room for a request now: the exporter is to send it again."""


class Spool:
    """A bounded queue of requests in a folder that one receiver at a time uses.

    Args:
        folder: Made where it is not there.
        limit: Bytes of requests that may wait. One request always fits an empty spool.

    Raises:
        Conflict: Where another receiver uses the folder.
        UsageError: Where the folder cannot be written.
    """

    def __init__(self, folder: Path, *, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._lock_file = _locked(folder)
        self._write_lock = threading.Lock()
        self._sync_lock = threading.Lock()
        self._arrived = threading.Condition()
        self._done = _read_done(folder)
        self._pending_bytes, self._pending = self._recover()
        self._segment = max([*segment_numbers(folder), self._done.segment], default=0) + 1
        self._written = self._synced = 0
        self._file = _open_segment(folder, self._segment)

    @property
    def pending(self) -> int:
        """Requests that wait."""
        return self._pending

    def append(self, record: Record) -> None:
        """Stores a request; it is durable when this returns. Any thread may.

        Raises:
            SpoolFull: Where the limit is reached, or the disk is full or failing.
        """
        data = pack(record)
        with self._write_lock:
            if self._pending and self._pending_bytes + len(data) > self._limit:
                raise SpoolFull(f"{self._pending} requests are waiting to be stored")
            try:
                self._write(data)
            except OSError as error:
                raise SpoolFull(f"the spool cannot be written: {error.strerror}") from error
            # Counted before it is durable: the reader must never find fewer than there are.
            self._pending += 1
            self._pending_bytes += len(data)
            self._written += 1
            mine = self._written
        self._sync(mine)
        with self._arrived:
            self._arrived.notify_all()

    def wait(self, seconds: float) -> bool:
        """True as soon as a request waits; False where none came in time, or at a `wake`."""
        with self._arrived:
            if not self._pending:
                self._arrived.wait(seconds)
            return self._pending > 0

    def wake(self) -> None:
        """Ends a `wait` early."""
        with self._arrived:
            self._arrived.notify_all()

    def take(self, size: int) -> tuple[list[Record], Place]:
        """The oldest requests, at least one where any waits, and the place behind them.

        Args:
            size: Bytes, decompressed, beyond which no further request is taken.
        """
        taken: list[Record] = []
        total = 0
        place = self._done
        with self._write_lock:
            count, current = self._pending, self._segment
        for number in segment_numbers(self._folder):
            if number < place.segment:
                continue
            start = place.offset if number == place.segment else 0
            for record, offset in read_records(segment_path(self._folder, number), start):
                if (taken and total + record.size > size) or len(taken) == count:
                    return taken, place
                taken.append(record)
                total += record.size
                place = Place(number, offset)
            if number < current:
                place = Place(number + 1, 0)
        return taken, place

    def done(self, records: list[Record], place: Place) -> None:
        """Forgets requests that `take` gave."""
        _write_done(self._folder, place)
        with self._write_lock:
            self._done = place
            self._pending -= len(records)
            self._pending_bytes -= sum(record.stored_bytes for record in records)
        self._remove_before(place.segment)

    def set_aside(self, record: Record) -> Path:
        """Keeps a request that cannot be stored in a file of its own, for a person to look at."""
        folder = self._folder / "refused"
        folder.mkdir(mode=0o700, exist_ok=True)
        ending = f".{record.encoding}" if record.encoding else ""
        path = folder / f"{time.time_ns()}.{record.kind}.{record.form}{ending}"
        with path.open("xb") as file:
            file.write(record.body)
            file.flush()
            os.fsync(file.fileno())
        return path

    def close(self) -> None:
        """Lets another receiver use the folder. What waits stays."""
        with self._write_lock:
            os.close(self._file)
            empty = self._pending == 0
        if empty:
            self._remove_before(self._segment + 1)
        os.close(self._lock_file)

    def _recover(self) -> tuple[int, int]:
        self._remove_before(self._done.segment)
        size = count = 0
        for number in segment_numbers(self._folder):
            start = self._done.offset if number == self._done.segment else 0
            for record, _ in read_records(segment_path(self._folder, number), start):
                size += record.stored_bytes
                count += 1
        return size, count

    def _write(self, data: bytes) -> None:
        size = os.fstat(self._file).st_size
        if size and size + len(data) > SEGMENT_BYTES:
            self._next_segment()
            size = 0
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self._file, view) :]
        except OSError:
            os.ftruncate(self._file, size)  # half a record would hide those behind it
            raise

    def _next_segment(self) -> None:
        with self._sync_lock:
            os.fsync(self._file)
            self._synced = self._written
            opened = _open_segment(self._folder, self._segment + 1)
            os.close(self._file)
            self._file, self._segment = opened, self._segment + 1

    def _sync(self, mine: int) -> None:
        """Returns once record number `mine` is on disk: one call serves all who wait."""
        with self._sync_lock:
            if self._synced >= mine:
                return
            reached = self._written
            try:
                os.fsync(self._file)
            except OSError as error:
                raise SpoolFull(f"the spool cannot be written: {error.strerror}") from error
            self._synced = reached

    def _remove_before(self, segment: int) -> None:
        for number in segment_numbers(self._folder):
            if number < segment:
                segment_path(self._folder, number).unlink(missing_ok=True)


def _locked(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(
            f"the spool folder {str(folder)!r} cannot be used: {error.strerror}", mend="make it writable"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise Conflict(
            "another receiver is running for this agent and store", mend="stop it first, or let it receive this too"
        ) from error
    return descriptor


def _open_segment(folder: Path, number: int) -> int:
    # Not exclusive: a file that a failed attempt left behind is empty.
    descriptor = os.open(segment_path(folder, number), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    sync_folder(folder)
    return descriptor


def _read_done(folder: Path) -> Place:
    try:
        segment, offset = (folder / _DONE).read_text().split()
        return Place(int(segment), int(offset))
    except (OSError, ValueError):
        return Place(0, 0)  # reading something again does no harm


def _write_done(folder: Path, place: Place) -> None:
    written = folder / f"{_DONE}.new"
    written.write_text(f"{place.segment} {place.offset}\n")
    written.replace(folder / _DONE)
