"""Starting runs: the template of this process, and one channel to the warden of each run."""

from __future__ import annotations

import atexit
import os
import selectors
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import rejudge
from rejudge.errors import ReplayError
from rejudge.replay.channel import receive, send

_START: Final = """
import sys
sys.path[:] = [path for path in sys.path if path]
sys.path.insert(0, sys.argv[1])
from rejudge.replay.template import main
main(int(sys.argv[2]))
"""
_POLL: Final = 0.2
_START_SECONDS: Final = 60.0


class _Template:
    """The one template of this process, started when it is first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._owner = 0

    def open_run(self) -> socket.socket:
        """A channel to a new warden, which waits for its request."""
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            for _ in range(2):
                control = self._ready()
                try:
                    socket.send_fds(control, [b"r"], [theirs.fileno()])
                    return ours
                except OSError:
                    self._stop()
        ours.close()
        raise ReplayError("the process that starts replays cannot be reached")

    def _ready(self) -> socket.socket:
        alive = self._process is not None and self._process.poll() is None
        if self._control is None or not alive or self._owner != os.getpid():
            self._stop()
            self._control, self._process = _start()
            self._owner = os.getpid()
        return self._control

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        # A copy of this process must not wait for what is not its child.
        if self._process is not None and self._owner == os.getpid():
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(5)
            if self._process.poll() is None:
                self._process.kill()
                self._process.wait()
        self._control = self._process = None

    def close(self) -> None:
        """End the template; runs in progress go on."""
        with self._lock:
            self._stop()


def _start() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    root = str(Path(rejudge.__file__).parent.parent)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-c", _START, root, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
    ours.settimeout(_START_SECONDS)
    try:
        greeting = ours.recv(1)
    except TimeoutError:
        greeting = b""
    ours.settimeout(None)
    if greeting != b"+":
        process.kill()
        process.wait()
        ours.close()
        raise ReplayError("the process that starts replays did not come up", mend="see the error above")
    return ours, process


_template: Final = _Template()
atexit.register(_template.close)


def run_process(request: dict[str, Any], *, canceled: Callable[[], bool] = lambda: False) -> dict[str, Any] | None:
    """Run one agent under a warden and wait for its report.

    Args:
        request: ``kind``, ``folder``, ``working_folder``, ``environment``, ``timeout_seconds``, ``output_bytes``,
            ``memory_bytes``, ``stdin``, and ``command`` for a command agent.
        canceled: Asked several times a second; True ends the run.

    Returns:
        The report; None where the warden itself was ended.
    """
    with _template.open_run() as channel:
        try:
            send(channel, request)
            return _report(channel, canceled)
        except OSError:
            return None


def _report(channel: socket.socket, canceled: Callable[[], bool]) -> dict[str, Any] | None:
    told = False
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        while not selector.select(_POLL):
            if not told and canceled():
                channel.shutdown(socket.SHUT_WR)  # the warden ends the run, and still reports
                told = True
    return receive(channel)
