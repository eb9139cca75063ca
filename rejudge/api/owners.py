"""Who is running a replay: a process of a machine, so that one that died can be told from one at work."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable

import psutil


def this_owner() -> str:
    """This process, for others to look for: ``host/pid/start time``."""
    return _owner(psutil.Process(os.getpid()))


def gone(owners: Iterable[str]) -> tuple[str, ...]:
    """Those owners that were processes of this machine and are no longer. Of other machines nothing can be said."""
    return tuple(owner for owner in dict.fromkeys(owners) if _is_gone(owner))


def _is_gone(owner: str) -> bool:
    host, _, rest = owner.partition("/")
    pid, _, _ = rest.partition("/")
    if host != platform.node() or not pid.isdigit():
        return False
    try:
        return _owner(psutil.Process(int(pid))) != owner
    except psutil.NoSuchProcess:
        return True


def _owner(process: psutil.Process) -> str:
    # A process id comes round again; together with its start it does not.
    return f"{platform.node()}/{process.pid}/{process.create_time():.2f}"
