"""CPU and wall time of a command and everything it started."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

LIMIT = 1_800.0
"""Seconds after which a command is taken to hang."""


class BenchmarkFailed(Exception):
    """A command did not do what its time was to be taken of."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a piece of work took."""

    cpu_seconds: float
    """User and system time of the process and all its descendants."""
    wall_seconds: float
    peak_bytes: int = 0
    """Resident memory of the largest process of the tree."""
    exit_code: int = 0
    output: str = ""


def run(
    command: Sequence[str], *, folder: Path, environment: Mapping[str, str], expect: Sequence[int] = (0,)
) -> Spent:
    """Run a command to its end.

    Raises:
        BenchmarkFailed: For another exit code than the expected ones, or none within `LIMIT`, with the end of what
            it said.
    """
    with (folder / "output.txt").open("w+b") as output:
        began = time.monotonic()
        child = subprocess.Popen(command, cwd=folder, env=dict(environment), stdout=output, stderr=output)
        watch = threading.Timer(LIMIT, _kill_tree, [child.pid])
        watch.start()
        try:
            # wait4 and not wait: the usage it gives is this child's, and of every descendant that was waited for.
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:  # Ctrl-C, or told to end
            _kill_tree(child.pid)
            raise
        finally:
            watch.cancel()
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    if wall >= LIMIT:
        raise BenchmarkFailed(f"{' '.join(command)} did not end within {LIMIT:g} s:\n{said[-2000:]}")
    if child.returncode not in expect:
        raise BenchmarkFailed(f"{' '.join(command)} ended with {child.returncode}:\n{said[-2000:]}")
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Spent(usage.ru_utime + usage.ru_stime, wall, peak, child.returncode, said)


def _kill_tree(pid: int) -> None:
    try:
        root = psutil.Process(pid)
        for process in (*root.children(recursive=True), root):
            process.kill()
    except psutil.NoSuchProcess:
        return


def cpu_of(pid: int) -> float:
    """CPU seconds that a running process and its descendants have used so far."""
    try:
        root = psutil.Process(pid)
        processes = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    total = 0.0
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
