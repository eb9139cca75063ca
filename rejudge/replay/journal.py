"""The journal of a run: what happened to each call, one JSON line each, written as it happens.

It is a file so that a run that was killed has one too, and lines are appended whole so that the agent's own
processes and threads can share it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson


class Journal(Protocol):
    """Takes events: JSON objects with an ``event`` name."""

    def write(self, event: Mapping[str, Any]) -> None:
        """Keep one event."""


class FileJournal:
    """A journal in a file."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, event: Mapping[str, Any]) -> None:
        """Append one event; it is on its way to the disk when this returns."""
        os.write(self._file, _line(event))

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


class MemoryJournal:
    """A journal in memory, for a run in this very process."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []
        self._lock = threading.Lock()

    def write(self, event: Mapping[str, Any]) -> None:
        """Keep one event."""
        with self._lock:
            self.events.append(event)


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a journal; a last line that was cut off is left out."""
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        try:
            event = orjson.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _line(event: Mapping[str, Any]) -> bytes:
    return orjson.dumps(event, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
