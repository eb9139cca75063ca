"""The process that serves a database's deployments, started by `rejudge up`. Imports no Prefect."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rejudge import settings
from rejudge.errors import RejudgeError
from rejudge.server import end_process, is_alive, locked, runs_command, spawn_detached
from rejudge.settings import Settings

MODULE: Final = "rejudge.cli.serving"
READY: Final = "serving"
"""The line in its log that says it is up."""
START_LIMIT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """A process that serves the deployments of one database."""

    pid: int
    name: str
    """What its deployments are called."""
    folder: str
    """Where it was started, which its flows run in."""
    api_url: str


def deployment_name(chosen: Settings) -> str:
    """What the deployments of this database are called: two folders never share one.

    Example: ``support-tests-1a2b3c4d``.
    """
    digest = hashlib.sha256(chosen.database_url.encode()).hexdigest()[:8]
    kept = "".join(one if one.isascii() and one.isalnum() else "-" for one in chosen.folder.parent.name.lower())
    return f"{kept.strip('-')[:40] or 'rejudge'}-{digest}"


def serve(chosen: Settings, api_url: str) -> Served:
    """The process that serves this database's deployments, started where there is none.

    Raises:
        RejudgeError: Where it does not come up, with the end of its log.
    """
    name = deployment_name(chosen)
    with locked(chosen.prefect_home, "served"):
        return _serve(chosen, api_url, name)


def _serve(chosen: Settings, api_url: str, name: str) -> Served:
    known = _recorded(chosen, name)
    if known is not None and known.api_url == api_url and _runs(known):
        return known
    if known is not None and _runs(known):
        end_process(known.pid)
    folder = _folder(chosen)
    log = folder / f"{name}.log"
    log.write_bytes(b"")
    pid = spawn_detached(
        [sys.executable, "-P", "-m", MODULE, name],
        log=log,
        folder=Path.cwd(),
        environment=settings.environment_with(
            # Safe path: a user's own tasks.py in this folder is not rejudge's, in the flow runs' processes either.
            {"PYTHONSAFEPATH": "1", "PREFECT_RUNNER_POLL_FREQUENCY": "3"},
            set_to={"PREFECT_API_URL": api_url},
        ),
    )
    served = Served(pid=pid, name=name, folder=str(Path.cwd()), api_url=api_url)
    (folder / f"{name}.json").write_text(json.dumps(asdict(served)))
    _wait_until_ready(served, log)
    return served


def stop_all(chosen: Settings) -> list[Served]:
    """End every process that serves deployments for this user; those that ran."""
    ended = []
    for one in _all(chosen):
        if _runs(one):
            end_process(one.pid)
            ended.append(one)
        (_folder(chosen) / f"{one.name}.json").unlink(missing_ok=True)
    return ended


def _wait_until_ready(served: Served, log: Path) -> None:
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and is_alive(served.pid):
        if READY in log.read_text(errors="replace").splitlines():
            return
        time.sleep(0.1)
    end_process(served.pid)
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    raise RejudgeError(
        f"the deployments cannot be served: {lines[-1] if lines else 'the process wrote nothing'}", mend=f"see {log}"
    )


def _runs(served: Served) -> bool:
    return is_alive(served.pid) and runs_command(served.pid, MODULE)


def _folder(chosen: Settings) -> Path:
    folder = chosen.prefect_home / "rejudge-served"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _recorded(chosen: Settings, name: str) -> Served | None:
    try:
        return Served(**json.loads((_folder(chosen) / f"{name}.json").read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _all(chosen: Settings) -> Iterator[Served]:
    for path in sorted(_folder(chosen).glob("*.json")):
        found = _recorded(chosen, path.stem)
        if found is not None:
            yield found
