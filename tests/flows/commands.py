"""The real program in processes of its own, as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rejudge.api
from rejudge.api import Store

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "rejudge.cli"]
LIMIT = 240


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Commands:
    """Runs commands in a folder, with a home of their own."""

    folder: Path
    environment: Mapping[str, str]

    def __call__(self, *arguments: str, stdin: str | None = None) -> Ended:
        """Run one command to its end."""
        done = subprocess.run(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env=dict(self.environment),
            capture_output=True,
            text=True,
            input=stdin,
            timeout=LIMIT,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start one command, and do not wait."""
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            cwd=self.folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def store(self) -> Store:
        """The store that the commands work on, in this process."""
        url = self.environment.get("REJUDGE_DATABASE_URL")
        return rejudge.api.open(url or f"sqlite:///{self.folder / '.rejudge' / 'rejudge.db'}")


def environment(home: Path, **variables: str) -> dict[str, str]:
    """This process's environment with a home of its own, and nothing of a surrounding CI."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "REJUDGE_", "CI")) and name != "COLUMNS"
    }
    return {**kept, "REJUDGE_HOME": str(home), "PYTHONPATH": str(ROOT), "REJUDGE_WORKERS": "2", **variables}


def wait_until(condition: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)


def end_group(process: subprocess.Popen[str]) -> None:
    """Kill a command that a test left running."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def evaluators(*references: str) -> Sequence[str]:
    """The options that name them."""
    return [word for reference in references for word in ("--evaluator", reference)]
