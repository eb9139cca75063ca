"""The template: a process that has imported what every replay needs, and is copied for each run.

Importing OpenTelemetry and pydantic costs 0.3 s; a copy (``fork``) of a process that has them costs some
milliseconds. The template runs no agent's code and has one thread; it ends when whoever started it does.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn


def main(control: int) -> None:
    """Copy this process for every request on a control socket, until that is closed.

    Args:
        control: File descriptor of a Unix socket; each message brings the channel of one run.
    """
    from rejudge.replay.child import become_agent
    from rejudge.replay.warden import watch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # wardens are not waited for
    sys.argv = ["rejudge-replay"]
    gc.collect()
    gc.freeze()  # what is shared stays shared: the collector would touch, and so copy, every page
    with socket.socket(fileno=control) as requests:
        requests.sendall(b"+")
        while True:
            message, channels, _, _ = socket.recv_fds(requests, 1, 1)
            if not message:
                return
            for channel in channels:
                if os.fork() == 0:
                    requests.close()
                    _leave_after(lambda: watch(socket.socket(fileno=channel), become_agent))  # noqa: B023
                os.close(channel)


def _leave_after(run: Callable[[], None]) -> NoReturn:  # pragma: no cover: in the warden's own process
    code = 1
    try:
        run()
        code = 0
    finally:
        os._exit(code)
