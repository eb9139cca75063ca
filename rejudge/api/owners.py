"""Who is running a replay: an attempt in a process of a machine. One that died can be told from one at work."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psutil

_under_way: set[str] = set()
"""The attempts of this process."""


@contextmanager
def attempt() -> Iterator[str]:
    """One attempt of this process, as others can look for it: ``host/pid/start time/mark``."""
    owner = f"{_process(psutil.Process(os.getpid()))}/{uuid4().hex[:8]}"
    _under_way.add(owner)
    try:
        yield owner
    finally:
        _under_way.discard(owner)


def is_gone(owner: str) -> bool:
    """Whether an attempt of this machine is over, or its process is. Of other machines nothing can be said."""
    process, _, _ = owner.rpartition("/")
    host, _, rest = process.partition("/")
    pid, _, _ = rest.partition("/")
    if host != platform.node() or not pid.isdigit():
        return False
    if int(pid) == os.getpid():
        return owner not in _under_way
    try:
        return _process(psutil.Process(int(pid))) != process
    except psutil.NoSuchProcess:
        return True


def _process(process: psutil.Process) -> str:
    # A process id comes round again; together with its start it does not.
    return f"{platform.node()}/{process.pid}/{process.create_time():.2f}"
