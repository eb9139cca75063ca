"""One evaluator's process, seen from outside: started, fed, watched, killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final

import psutil

from rejudge.scoring.frames import FrameBuffer, ProtocolError

LOG_LIMIT: Final = 64 * 1024
"""Bytes kept of what an evaluator prints; the newest win."""

_READ: Final = 256 * 1024
_GATHER: Final = 0.002
"""Seconds in which replies that come one close after the other are gathered: being woken for each of them costs both
processes more than a fast scoring does."""
_F_SETPIPE_SZ: Final = 1031
_PIPE_BYTES: Final = 1024 * 1024
_ROOT: Final = str(Path(__file__).resolve().parents[2])
_BOOT: Final = (
    "import gc, sys; gc.disable(); root, *rest = sys.argv[1:]; root in sys.path or sys.path.append(root); "
    "from rejudge.scoring.worker import main; main(*map(int, rest))"
)


class ChildDied(Exception):
    """The process is gone. The message says how."""


class Child:
    """A running worker process in a group of its own.

    Args:
        environment: Its variables, whole.
        interpreter: The Python it runs on; None is ours.
        root: The folder that rejudge is imported from.
        concurrency: Sessions it works on at once.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        interpreter: str | None = None,
        root: str | None = None,
        concurrency: int = 1,
    ) -> None:
        requests, self._writing = os.pipe()
        self._reading, replies = os.pipe()
        self._logging, log = os.pipe()
        # -P: neither the current folder nor the user's own modules of our names come before the packages.
        command = [interpreter or sys.executable, "-P", "-X", "faulthandler", "-c", _BOOT]
        command += [root or _ROOT, str(requests), str(replies), str(os.getpid()), str(concurrency)]
        try:
            self._process = _from_a_lasting_thread(
                lambda: subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=(requests, replies),
                    env=dict(environment),
                    start_new_session=True,
                )
            )
        except OSError as error:
            for descriptor in (self._writing, self._reading, self._logging):
                os.close(descriptor)
            raise ChildDied(f"{command[0]} cannot be started: {error}") from error
        finally:
            for descriptor in (requests, replies, log):
                os.close(descriptor)
        for descriptor in (self._writing, self._reading, self._logging):
            os.set_blocking(descriptor, False)
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._writing, _F_SETPIPE_SZ, _PIPE_BYTES)
        self._open = {self._writing, self._reading, self._logging}
        self._unsent: deque[memoryview] = deque()
        self._frames = FrameBuffer()
        self._log = bytearray()
        self._watched: psutil.Process | None = None
        self._received_at = 0.0
        self._poll = select.poll()
        self._poll.register(self._reading, select.POLLIN)
        self._poll.register(self._logging, select.POLLIN)

    @property
    def pid(self) -> int:
        """Its process id, which is its group's too."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """True while it has not ended."""
        return self._process.poll() is None

    @property
    def log(self) -> str:
        """The newest of what it printed."""
        return self._log.decode("utf-8", "replace").replace("\0", "\ufffd")

    def send(self, frame: bytes) -> None:
        """Queues a frame; `exchange` sends it."""
        if not self._unsent:
            self._poll.register(self._writing, select.POLLOUT)
        self._unsent.append(memoryview(frame))

    def exchange(self, timeout: float) -> list[bytes]:
        """Sends what the pipe takes, and the JSON of each frame that has arrived.

        Args:
            timeout: Seconds to wait where there is nothing to do.

        Raises:
            ChildDied: When it has ended and everything it sent has been taken.
        """
        ready = dict(self._poll.poll(max(timeout, 0) * 1000))
        if self._writing in ready:
            self._write()
        if self._logging in ready:
            self._read_log()
        # A process that it forked may hold the pipe open: its own end must be looked for too.
        ended = self._reading not in ready and not self.alive
        pause = self._received_at + _GATHER - time.monotonic()
        if pause > 0 and self._reading in ready:
            time.sleep(pause)
        received = self._read(self._reading) if ended or self._reading in ready else None
        if received:
            self._received_at = time.monotonic()
            try:
                return self._frames.feed(received)
            except ProtocolError as error:
                self.kill()
                raise ChildDied("the evaluator wrote into rejudge's own pipe") from error
        if ended or received == b"":
            self._wait_for_end()
            raise ChildDied(self.describe_end())
        return []

    def _write(self) -> None:
        try:
            while self._unsent:
                part = self._unsent[0]
                written = os.write(self._writing, part)
                if written < len(part):
                    self._unsent[0] = part[written:]
                    return
                self._unsent.popleft()
        except BlockingIOError:
            return
        except OSError:  # it is gone, or closed its end: what it still sent is read first
            self._unsent.clear()
        self._poll.unregister(self._writing)

    def _read(self, descriptor: int) -> bytes | None:
        try:
            return os.read(descriptor, _READ)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _read_log(self) -> bool:
        received = self._read(self._logging)
        if received == b"":
            with contextlib.suppress(KeyError):
                self._poll.unregister(self._logging)
        if not received:
            return False
        self._log += received[-LOG_LIMIT:]
        del self._log[:-LOG_LIMIT]
        return True

    def forget_log(self) -> None:
        """Starts the log anew."""
        self._log.clear()

    def resident_bytes(self, *, with_children: bool = False) -> int:
        """Memory it holds now; 0 where it is gone."""
        try:
            self._watched = self._watched or psutil.Process(self.pid)
            held = int(self._watched.memory_info().rss)
            if with_children:
                for process in self._watched.children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        held += process.memory_info().rss
            return held
        except psutil.Error:
            return 0

    def describe_end(self) -> str:
        """How it ended, with the last of what it printed."""
        while self._read_log():
            pass
        code = self._process.poll()
        if code is None:
            how = "it closed rejudge's pipe and went on"
        elif code < 0:
            how = f"it was ended by {_signal_name(-code)}"
        else:
            how = f"it ended itself with exit code {code}"
        lines = [line for line in self.log.splitlines() if line.strip()][-12:]
        return "\n".join([how, *(["the last it printed:", *lines] if lines else [])])

    def _wait_for_end(self, seconds: float = 0.5) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)

    def kill(self) -> None:
        """Ends the whole process group at once, and waits for it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        # What it forked may hold the pipe; its group is dead all the same.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def close(self, patience: float = 1.0) -> None:
        """Lets an idle process end by itself, then makes sure; safe to call twice."""
        if self._open:
            self._close(self._writing)
            deadline = time.monotonic() + patience
            while self.alive and time.monotonic() < deadline and not self._unsent:
                self._read_log()
                self._wait_for_end(0.02)
            self.kill()
            for descriptor in tuple(self._open):
                self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.discard(descriptor)
            with contextlib.suppress(KeyError, ValueError):
                self._poll.unregister(descriptor)
            os.close(descriptor)


def _signal_name(number: int) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
    return f"{name} (out of memory, perhaps)" if name == "SIGKILL" else name


class _Starter:
    """A thread that starts processes and lasts as long as we do.

    Linux tells a child of its parent's death when the *thread* that started it ends, and the threads of a task runner
    end early.
    """

    def __init__(self) -> None:
        self._orders: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="rejudge-starter", daemon=True)
        self._pid = os.getpid()
        self._thread.start()

    @property
    def usable(self) -> bool:
        return self._pid == os.getpid() and self._thread.is_alive()

    def run(self, start: Callable[[], Any]) -> Any:
        future: Future[Any] = Future()
        self._orders.put((start, future))
        return future.result()

    def _serve(self) -> None:
        while True:
            start, future = self._orders.get()
            try:
                future.set_result(start())
            except BaseException as error:  # handed to whoever asked
                future.set_exception(error)


_starter: _Starter | None = None
_starter_lock = threading.Lock()


def _from_a_lasting_thread(start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    global _starter
    with _starter_lock:
        if _starter is None or not _starter.usable:
            _starter = _Starter()
        starter = _starter
    process: subprocess.Popen[bytes] = starter.run(start)
    return process
