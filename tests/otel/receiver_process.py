"""A real `rejudge receive`, in a process and a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

_ROOT = Path(__file__).parents[2]
_START_SECONDS = 60.0


class ReceiverProcess:
    """`rejudge receive` on a free port, with its store in a folder."""

    def __init__(self, folder: Path, *options: str, **variables: str) -> None:
        self.folder = folder
        self.database_url = f"sqlite:///{folder / 'store.db'}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "REJUDGE_"))},
            "PYTHONPATH": str(_ROOT),
            "REJUDGE_DATABASE_URL": self.database_url,
            "PYTHONWARNINGS": "ignore",
            **variables,
        }
        self.log = folder / "receive.log"
        self._options = options
        self.start()

    def start(self) -> None:
        """Starts it (again), and waits until it listens."""
        command = [sys.executable, "-m", "rejudge.cli", "receive", "--agent", "a", "--port", "0", "--json"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *self._options],
                cwd=self.folder,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, self.log.read_text()
        self.url = json.loads(line)["url"]

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self._process.kill()
        self._wait()

    def stop(self) -> dict[str, Any]:
        """Ends it as Ctrl-C would; what it says at the end."""
        self._process.send_signal(signal.SIGINT)
        output = self._wait()
        assert self._process.returncode == 0, self.log.read_text()
        return json.loads(output)

    def pending(self) -> int:
        """Requests that wait to be stored."""
        return int(httpx.get(f"{self.url}/health").json()["pending_requests"])

    def wait_until_stored(self, seconds: float = 60.0) -> None:
        """Returns once nothing waits."""
        deadline = time.monotonic() + seconds
        while self.pending():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def ask(self, *arguments: str) -> Any:
        """What a rejudge command of the same folder answers as JSON."""
        command: Sequence[str] = [sys.executable, "-m", "rejudge.cli", *arguments, "--json"]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode in (0, 4), done.stderr
        return json.loads(done.stdout)

    def _wait(self) -> str:
        assert self._process.stdout is not None
        output = self._process.stdout.read()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        return output

    def __enter__(self) -> ReceiverProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._wait()
