"""The local Prefect server: one per user, found or started in the background. Imports no Prefect.

Started detached and with a log file rather than by ``prefect server start --background``: that one keeps the
terminal's process group, so that Ctrl-C in any command would stop it, and writes into pipes nobody reads.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from importlib.metadata import version
from pathlib import Path
from typing import IO, Final

from rejudge import settings
from rejudge.errors import RejudgeError, UsageError
from rejudge.settings import Settings

HOST: Final = "127.0.0.1"
PORT: Final = 4200
START_LIMIT: Final = 180.0
"""Seconds a server may take to answer: a fresh database on a busy machine takes over a minute."""
STOP_LIMIT: Final = 15.0
"""Seconds a server may take to end before it is killed."""
LOCK_LIMIT: Final = 2 * START_LIMIT + 60.0
"""Seconds to wait for another command: longer than it may take to start a server, at its second port."""
SPAWN_LIMIT: Final = 60.0
"""Seconds a shell may take to put a process into the background."""

VARIABLES: Final = {
    # One transaction per event is the default, and drops states under load: a third of the cost this way.
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_BATCH_SIZE": "100",
    "PREFECT_SERVER_SERVICES_TASK_RUN_RECORDER_FLUSH_INTERVAL": "1",
    "PREFECT_SERVER_SERVICES_EVENT_PERSISTER_BATCH_SIZE": "500",
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "DO_NOT_TRACK": "1",
}
"""Set before Prefect is imported, unless the user has set them."""

# Not the server's business: where this command's Prefect is, and the password of our database.
_WITHHELD = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_LOGGING_LEVEL", "REJUDGE_DATABASE_URL")


@dataclass(frozen=True, slots=True)
class Server:
    """A local Prefect server that was started by us."""

    pid: int
    port: int
    prefect_version: str

    @property
    def url(self) -> str:
        """Where a person looks at it."""
        return f"http://{HOST}:{self.port}"

    @property
    def api_url(self) -> str:
        """Where Prefect's clients talk to it."""
        return f"{self.url}/api"


def variables(chosen: Settings) -> dict[str, str]:
    """What to set before Prefect is imported; its home is there then, where it can be."""
    with suppress(OSError):  # Prefect warns of a home that it cannot make, and makes no folders above it
        chosen.prefect_home.mkdir(parents=True, exist_ok=True)
    return {**VARIABLES, "PREFECT_HOME": str(chosen.prefect_home)}


def find(chosen: Settings) -> Server | None:
    """The running server of this user, or None; what a dead one left behind counts as none."""
    server = _recorded(chosen)
    if server is None or not is_alive(server.pid) or not healthy(server.api_url):
        return None
    return server


def find_or_start(chosen: Settings, *, say: Callable[[str], None]) -> Server:
    """The running server of this user, started first where there is none.

    Commands that come at the same moment start one server between them.

    Args:
        chosen: Where the server keeps its files.
        say: Told in one line what happens: a start takes some ten seconds.

    Raises:
        RejudgeError: When the server does not come up, with the end of its log.
    """
    server = find(chosen)
    if server is not None:
        return server
    with locked(chosen.prefect_home, "server"):
        # Another command may have started it while this one waited, or was stopped while it came up.
        server = _recorded(chosen)
        if server is not None and is_alive(server.pid) and runs_command(server.pid, "prefect"):
            say(f"Waiting for the local Prefect server at {server.url} to answer")
            if _came_up(server):
                return server
            end_process(server.pid)
        return _start(chosen, say=say)


def stop(chosen: Settings) -> Server | None:
    """End the server of this user; None where none was running. Returns once it is gone."""
    with locked(chosen.prefect_home, "server"):
        server = _recorded(chosen)
        if server is None:
            return None
        running = is_alive(server.pid) and runs_command(server.pid, "prefect")
        if running:
            end_process(server.pid)
        _record_path(chosen).unlink(missing_ok=True)
        _pid_path(chosen).unlink(missing_ok=True)
        return server if running else None


def healthy(api_url: str, *, timeout: float = 5.0) -> bool:
    """True where a Prefect API answers that it is well."""
    host, _, path = api_url.removeprefix("http://").partition("/")
    connection = HTTPConnection(host, timeout=timeout)
    try:
        connection.request("GET", f"/{path}/health")
        return connection.getresponse().read(64).strip() == b"true"
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def end_process(pid: int) -> None:
    """Ask a process to end; kill it when it has not within `STOP_LIMIT`."""
    for number, patience in ((signal.SIGTERM, STOP_LIMIT), (signal.SIGKILL, 5.0)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not is_alive(pid):
                return
            time.sleep(0.05)


def spawn_detached(arguments: list[str], *, log: Path, folder: Path, environment: dict[str, str]) -> int:
    """Start a process that outlives this one, its terminal and its Ctrl-C; returns its pid.

    The shell in between ends at once: the process is nobody's child, so its death leaves no zombie.

    Raises:
        RejudgeError: Where the shell does not end.
    """
    try:
        launched = subprocess.run(
            ["/bin/sh", "-c", '"$@" </dev/null >>"$0" 2>&1 & echo $!', str(log), *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            start_new_session=True,
            check=True,
            timeout=SPAWN_LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        message = f"{arguments[0]} could not be put into the background within {SPAWN_LIMIT:g} s"
        raise RejudgeError(message, mend=f"see {log}, and how busy the machine is") from error
    return int(launched.stdout)


def _start(chosen: Settings, *, say: Callable[[str], None]) -> Server:
    log = chosen.prefect_home / "server.log"
    say(f"Starting the local Prefect server, once, some ten seconds (log: {log})")
    for port in (_free_port(), _free_port(any_port=True)):
        log.write_bytes(b"")
        pid = _spawn_server(chosen, port=port, log=log)
        server = Server(pid=pid, port=port, prefect_version=version("prefect"))
        _record(chosen, server)
        if _came_up(server):
            say(f"Prefect server: {server.url} (it stays up for the next command; `rejudge down` stops it)")
            return server
        end_process(pid)
        if b"already in use" not in log.read_bytes():
            break
    raise RejudgeError(
        f"the local Prefect server did not start: {_last_line(log)}",
        mend=f"see {log}; or use --ephemeral, or set PREFECT_API_URL to a server that runs",
    )


def _spawn_server(chosen: Settings, *, port: int, log: Path) -> int:
    # -P and the folder: a user's own email.py or flows/ in the current folder is nothing to the server.
    command = [sys.executable, "-P", "-m", "prefect", "server", "start", "--host", HOST, "--port", str(port)]
    # Its pages ask the default port otherwise, whichever server that is.
    own = {"PREFECT_SERVER_UI_API_URL": f"http://{HOST}:{port}/api"}
    environment = settings.environment_with({**variables(chosen), **own}, without=_WITHHELD)
    return spawn_detached(command, log=log, folder=chosen.prefect_home, environment=environment)


def _came_up(server: Server) -> bool:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline:
        if not is_alive(server.pid):
            return False
        if healthy(server.api_url):
            return True
        time.sleep(0.1)
    return False


def _free_port(*, any_port: bool = False) -> int:
    for candidate in (0,) if any_port else (PORT, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, candidate))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise RejudgeError(f"no free port on {HOST}", mend="close what holds them, or set PREFECT_API_URL")


def is_alive(pid: int) -> bool:
    """Whether there is a process of this number that is ours and has not ended."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False  # without the permission, the number belongs to another user's process by now
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    # In a container whose first process takes in no orphans, one that ended keeps its number for ever.
    try:
        facts = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return facts.rpartition(b")")[2].split()[0] == b"Z"


def runs_command(pid: int, word: str) -> bool:
    """Whether the process of this number is still the one that was started, and not a later one.

    Args:
        word: Part of the command line that it was started with.
    """
    import psutil

    try:
        return word in " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


def _record_path(chosen: Settings) -> Path:
    return chosen.prefect_home / "rejudge-server.json"


def _pid_path(chosen: Settings) -> Path:
    return chosen.prefect_home / "server.pid"  # where `prefect server stop` looks


def _recorded(chosen: Settings) -> Server | None:
    try:
        return Server(**json.loads(_record_path(chosen).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _record(chosen: Settings, server: Server) -> None:
    path = _record_path(chosen)
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(asdict(server)))
    draft.replace(path)
    _pid_path(chosen).write_text(str(server.pid))


@contextmanager
def locked(folder: Path, name: str, *, limit: float = LOCK_LIMIT) -> Iterator[None]:
    """Holds a lock between processes for the length of a block.

    Args:
        limit: Seconds to wait for it.

    Raises:
        UsageError: Where the folder cannot be written.
        RejudgeError: Where another process holds it for longer.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f"rejudge-{name}.lock").open("w")
    except OSError as error:
        message = f"cannot write in {folder}: {error.strerror}"
        raise UsageError(message, mend="set REJUDGE_HOME to a folder that can be written") from error
    with lock:
        _wait_for(lock, limit)
        yield


def _wait_for(lock: IO[str], limit: float) -> None:
    deadline = time.monotonic() + limit
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                message = f"another command has held {lock.name} for {limit:g} s"
                raise RejudgeError(message, mend="end the rejudge command that hangs, and try again") from None
        time.sleep(0.05)


def _last_line(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1] if lines else "it wrote nothing"
