"""From the spool into the store, in the background."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from rejudge.errors import StoreError
from rejudge.otel.receiver.decoding import decode
from rejudge.otel.receiver.encoding import decompress
from rejudge.otel.receiver.refused import Refused
from rejudge.otel.receiver.segments import Place, Record
from rejudge.otel.receiver.spool import Spool
from rejudge.otel.span import Batch

GATHER_SECONDS: Final = 0.5
"""How long spans are gathered before they are assembled: a session is assembled again for each group."""

GROUP_BYTES: Final = 32 * 1024 * 1024
"""Decompressed bytes that are assembled at once."""

_LONGEST_PAUSE: Final = 2.0
_LONGEST_RETRY: Final = 30.0
_ATTEMPTS: Final = 3
"""How often a group that fails for no fault of the store is tried before its requests are tried one by one."""

_log = logging.getLogger(__name__)


class Drain:
    """A thread that takes requests out of a spool, decodes them, and hands them on.

    Args:
        spool: Where the requests are.
        ingest: Stores a batch of spans and log records, whole or not at all; called again with the same batch after
            an error, and after a crash.
        limit: Bytes that a request may have when decompressed, as the app has checked it.
    """

    def __init__(self, spool: Spool, ingest: Callable[[Batch], None], *, limit: int) -> None:
        self._spool = spool
        self._ingest = ingest
        self._limit = limit
        self._stopping = threading.Event()
        self._give_up_at = float("inf")
        self._thread = threading.Thread(target=self._run, name="rejudge-receive-drain")

    def start(self) -> None:
        """Begins to work, with what an earlier receiver left."""
        self._thread.start()

    def stop(self, *, within: float) -> None:
        """Stores what waits, as far as the time goes; the rest is stored by the next receiver.

        Args:
            within: Seconds.
        """
        self._give_up_at = time.monotonic() + within
        self._stopping.set()
        self._spool.wake()
        self._thread.join()

    def _run(self) -> None:
        pause = GATHER_SECONDS
        while not (self._stopping.is_set() and self._over()):
            if not self._spool.wait(1.0):
                continue
            self._stopping.wait(pause)
            began = time.monotonic()
            self._store_group()
            # Never busy for more than half of the time: assembling a long session again and again is dear.
            pause = min(max(GATHER_SECONDS, time.monotonic() - began), _LONGEST_PAUSE)

    def _over(self) -> bool:
        return self._spool.pending == 0 or time.monotonic() >= self._give_up_at

    def _store_group(self) -> None:
        records, place = self._spool.take(GROUP_BYTES)
        if self._stored(records):
            self._spool.done(records, place)
        elif not self._gave_up():
            self._store_one_by_one(records, place)

    def _store_one_by_one(self, records: Sequence[Record], place: Place) -> None:
        for record in records:
            if not self._stored([record]):
                if self._gave_up():
                    return
                path = self._spool.set_aside(record)
                _log.error("a request cannot be stored; it is kept in %s", path)
        self._spool.done(list(records), place)

    def _stored(self, records: Sequence[Record]) -> bool:
        """Whether these are in the store; tried for as long as only the store is at fault."""
        batch = self._decoded(records)
        attempt = 0
        delay = 1.0
        while True:
            try:
                self._ingest(batch)
                return True
            except StoreError as error:
                _log.warning("%s; trying again in %.0f s", error.message, delay)
            except Exception:
                attempt += 1
                _log.exception("storing %d requests failed, attempt %d", len(records), attempt)
                if attempt == _ATTEMPTS:
                    return False
            if self._gave_up():
                return False
            self._rest(delay)
            delay = min(delay * 2, _LONGEST_RETRY)

    def _rest(self, seconds: float) -> None:
        if not self._stopping.wait(seconds):
            return
        # Stopping ends a rest early, but must not become a busy loop.
        time.sleep(max(0.0, min(seconds, 0.5, self._give_up_at - time.monotonic())))

    def _gave_up(self) -> bool:
        return time.monotonic() >= self._give_up_at

    def _decoded(self, records: Sequence[Record]) -> Batch:
        batch = Batch()
        for record in records:
            try:
                body = decompress(record.body, record.encoding, limit=self._limit)
                decode(body, record.kind, record.form, batch)
            except Refused as error:  # it was read once before: only a changed limit or version gets here
                path = self._spool.set_aside(record)
                _log.error("a request can no longer be read (%s); it is kept in %s", error.message, path)
        return batch
