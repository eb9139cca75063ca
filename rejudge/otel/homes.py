"""Where the spans that name a session lie: in one bucket, so that it can be assembled there, or in several."""

from __future__ import annotations

from array import array
from typing import Final
from zlib import crc32

_SLOTS: Final = 1 << 20
_SEVERAL: Final = 0xFFFF


class Homes:
    """Remembers the bucket of each session id in two megabytes, however many there are.

    Two ids may share a slot; then both are taken to lie in several buckets, which costs time and is never wrong.
    """

    def __init__(self) -> None:
        self._slots = array("H", bytes(2 * _SLOTS))

    def note(self, identity: str, bucket: int) -> None:
        """Remember that a span or record in this bucket names this session."""
        slot = _slot(identity)
        known = self._slots[slot]
        if known == 0:
            self._slots[slot] = bucket + 1
        elif known != bucket + 1:
            self._slots[slot] = _SEVERAL

    def is_only_in(self, identity: str, bucket: int) -> bool:
        """True where all that names this session lies in this bucket."""
        return self._slots[_slot(identity)] == bucket + 1


def _slot(identity: str) -> int:
    return crc32(identity.encode("utf-8", "replace")) & (_SLOTS - 1)
