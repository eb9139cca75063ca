"""A place to measure in: a folder, a database and a Prefect server of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Spent, cpu_of, run

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the commands of one benchmark run."""

    folder: Path
    quick: bool = False

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its commands: nothing of the user's own store or server."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("REJUDGE_", "PREFECT_", "OTEL_"))
        }
        # Without bytecode every command compiles what it imports, which would be most of what is measured.
        for name in ("CI", "PYTHONDONTWRITEBYTECODE"):
            kept.pop(name, None)
        return {**kept, "REJUDGE_HOME": str(self.folder / "home"), "PYTHONPATH": str(ROOT)}

    @property
    def database(self) -> Path:
        """The SQLite file of its store."""
        return self.folder / ".rejudge" / "rejudge.db"

    def rejudge(self, *arguments: str, expect: Sequence[int] = (0,)) -> Spent:
        """Run a rejudge command as a user would."""
        return self.python("-m", "rejudge.cli", *arguments, expect=expect)

    def python(self, *arguments: str, expect: Sequence[int] = (0,)) -> Spent:
        """Run Python."""
        return run([sys.executable, *arguments], folder=self.folder, environment=self.environment, expect=expect)

    def bare(self, loop: str, *arguments: str) -> dict[str, float]:
        """CPU and wall seconds of a bare loop of `benchmarks.bare`, in a process of its own, imports not counted."""
        measured: dict[str, float] = json.loads(self.python("-m", "benchmarks.bare", loop, *arguments).output)
        return measured

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What a query of the store gives."""
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as connection:
            return connection.execute(query).fetchall()


@contextmanager
def new_place(*, quick: bool) -> Iterator[Place]:
    """An empty place, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="rejudge-bench-") as folder:
        yield Place(Path(folder), quick)


@contextmanager
def prefect_server(place: Place) -> Iterator[int]:
    """The process id of a Prefect server for this place, stopped at the end."""
    started = place.rejudge("up", "--json")
    try:
        yield int(json.loads(started.output.splitlines()[-1])["pid"])
    finally:
        place.rejudge("down")


class ServerClock:
    """What a Prefect server uses beside the commands that it serves.

    Args:
        pid: Its process.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = cpu_of(pid)

    def seconds(self) -> float:
        """CPU seconds since this clock was made."""
        return cpu_of(self._pid) - self._before
