"""Imports that are killed: a process that begins them, ends them at a given moment, and takes them up again.

Forked from one that has imported everything, so that a kill costs milliseconds:

    python -m tests.api.killed_imports FILE SECONDS URL [URL ...]

Each URL names an empty store of its own. The moments are spread over SECONDS.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from rejudge.api import importing
from rejudge.store.engine import connect

AGENT = "support-desk"


def main(file: str, seconds: float, urls: list[str]) -> None:
    """Kill one import into each store, then import again and whole."""
    importing.NODES_A_TRANSACTION = 60  # type: ignore[misc]  # small, so that a kill falls between transactions too
    for index, url in enumerate(urls):
        child = os.fork()
        if child == 0:
            _import(file, url)
            os._exit(0)
        time.sleep(seconds * (index + 0.5) / len(urls))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        _import(file, url)


def _import(file: str, url: str) -> None:
    database = connect(url)
    importing.import_traces(database, [file], agent=AGENT, tags=["monday"])
    database.close()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
