"""The warden: one process over each run of an agent, that ends it in time and leaves nothing of it running.

It is the parent of the agent's process, and on Linux also of whatever that leaves behind (a "child subreaper"), so
that a process that left the group, its session and its parent is still found. It ends everything when the time is
up, when the agent has ended, when it is told to, and when whoever started it is gone.
"""

from __future__ import annotations

import ctypes
import os
import resource
import selectors
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import psutil

from rejudge.replay.channel import receive, send

GRACE: Final = 2.0
"""Seconds between asking an agent to end and ending it."""

_CHUNK: Final = 1 << 16
_SUBREAPER: Final = 36
_DEATH_SIGNAL: Final = 1


@dataclass(slots=True)
class Output:
    """What an agent prints, bounded: the start, the end, and how much it was."""

    limit: int
    head: bytearray = field(default_factory=bytearray)
    tail: bytearray = field(default_factory=bytearray)
    total: int = 0

    def add(self, chunk: bytes) -> None:
        """Take some of it."""
        self.total += len(chunk)
        room = self.limit - len(self.head)
        self.head += chunk[:room]
        self.tail += chunk[room:] if room < len(chunk) else b""
        if len(self.tail) > 2 * self.limit:
            del self.tail[: -self.limit]

    def text(self) -> str:
        """The start and the end, with a line between them that says how much was left out."""
        tail = self.tail[-self.limit :] if self.limit else b""
        left_out = self.total - len(self.head) - len(tail)
        between = f"\n… {left_out} bytes left out …\n" if left_out else ""
        return self.head.decode("utf-8", "replace") + between + tail.decode("utf-8", "replace")


def watch(channel: socket.socket, become_agent: Callable[[dict[str, Any]], None]) -> None:
    """Run one agent to its end and report on it.

    Args:
        channel: The request comes in here, and the report goes out; when it is closed the run is called off.
        become_agent: Called in the agent's process, which is set up already; does not return.
    """
    request = receive(channel)
    if request is None:
        return
    _prctl(_SUBREAPER, 1)
    wake, woken = socket.socketpair()
    wake.setblocking(False)
    woken.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    reading, writing = os.pipe()
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _enter_agent(request, writing, become_agent)
    os.close(writing)
    os.set_blocking(reading, False)
    report = _Watch(pid, reading, woken, channel, request, started).until_the_end()
    try:
        send(channel, report)
    except OSError:  # whoever asked is gone, and would have removed what it recorded
        shutil.rmtree(request["folder"], ignore_errors=True)


def _enter_agent(
    request: dict[str, Any], output: int, become_agent: Callable[[dict[str, Any]], None]
) -> None:  # pragma: no cover: in the agent's own process
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        _prctl(_DEATH_SIGNAL, signal.SIGKILL)
        stdin = os.open(request.get("stdin") or os.devnull, os.O_RDONLY)
        for source, target in ((stdin, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.closerange(3, 4096)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["working_folder"])
        if request.get("memory_bytes"):
            resource.setrlimit(resource.RLIMIT_AS, (request["memory_bytes"],) * 2)
        become_agent(request)
    except SystemExit as left:
        _leave(left.code if isinstance(left.code, int) else 1)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    _leave(1)


def _leave(code: int) -> None:  # pragma: no cover: in the agent's own process
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


class _Watch:
    """One run as the warden sees it."""

    def __init__(
        self,
        pid: int,
        reading: int,
        woken: socket.socket,
        channel: socket.socket,
        request: dict[str, Any],
        started: float,
    ) -> None:
        self._pid = pid
        self._reading = reading
        self._woken = woken
        self._channel = channel
        self._started = started
        self._deadline = started + float(request["timeout_seconds"])
        self._output = Output(int(request["output_bytes"]))
        self._status: int | None = None
        self._timed_out = False
        self._canceled = False
        self._left_behind: set[int] = set()

    def until_the_end(self) -> dict[str, Any]:
        """Wait, end what has to be ended, and say how it went."""
        self._wait(self._deadline, heed_channel=True)
        if self._status is None:
            self._timed_out = not self._canceled
            self._signal_all(signal.SIGTERM)
            self._wait(time.monotonic() + GRACE, heed_channel=False)
        self._end_all()
        self._drain()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "exit_code": os.waitstatus_to_exitcode(self._status) if self._status is not None else None,
            "timed_out": self._timed_out,
            "canceled": self._canceled,
            "left_behind": len(self._left_behind),
            "output": self._output.text(),
            "output_bytes": self._output.total,
            "duration_seconds": time.monotonic() - self._started,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
        }

    def _wait(self, deadline: float, *, heed_channel: bool) -> None:
        """Until the agent has ended, the time is up, or (if heeded) the run is called off."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken, selectors.EVENT_READ)
            selector.register(self._reading, selectors.EVENT_READ)
            if heed_channel:
                selector.register(self._channel, selectors.EVENT_READ)
            while self._status is None and (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    if key.fileobj is self._channel:
                        self._canceled = True
                        return
                    if key.fileobj is self._woken:
                        with suppress(BlockingIOError):
                            self._woken.recv(4096)
                    elif not self._read_some():
                        selector.unregister(self._reading)
                self._reap()

    def _read_some(self) -> bool:
        """Take what was printed; False where nobody can print any more."""
        try:
            chunk = os.read(self._reading, _CHUNK)
        except BlockingIOError:
            return True
        self._output.add(chunk)
        return bool(chunk)

    def _drain(self) -> None:
        while True:
            try:
                chunk = os.read(self._reading, _CHUNK)
            except BlockingIOError:
                break
            if not chunk:
                break
            self._output.add(chunk)

    def _reap(self) -> bool:
        """Take in the processes that have ended; False where none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._pid:
                self._status = status

    def _signal_all(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, number)
        for process in _below():
            with suppress(psutil.Error):
                process.send_signal(number)

    def _end_all(self) -> None:
        """Kill until nothing is left: what forks while it is killed is killed in the next round."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        give_up = time.monotonic() + GRACE
        while self._reap() and time.monotonic() < give_up:
            for process in _below():
                with suppress(psutil.Error):
                    process.kill()
                    self._left_behind.add(process.pid)
            time.sleep(0.005)


def _below() -> list[psutil.Process]:
    """Every process below this one."""
    try:
        return psutil.Process().children(recursive=True)
    except psutil.Error:
        return []


def _prctl(option: int, value: int) -> None:
    """Linux only; elsewhere the process group and the process tree have to do."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
