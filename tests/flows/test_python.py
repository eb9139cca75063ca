"""Batches from Python: the same flow, also where an event loop is running."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.flows.commands import Commands

PLAIN = """
import json, rejudge

def main():
    store = rejudge.open()
    batch = store.evaluations.create(ids=["1", "2"], evaluators=["rejudge/latency"])
    rows = store.evaluations.list(session=batch.sessions[0])
    print(json.dumps([len(batch.sessions), batch.report.scored, [row.name for row in rows]]))
"""
SCRIPTS = {
    "script": PLAIN + "main()",
    "notebook": PLAIN + "import asyncio\nasync def cell(): main()\nasyncio.run(cell())",
    "prefect imported before": "import prefect\n" + PLAIN + "main()",
    "inside a flow": PLAIN + "from prefect import flow\nflow(main)()",
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_batch_is_run_and_read(twelve: Commands, script: str, served: Commands) -> None:
    api = {}
    if "flow(main)" in script:  # a user's own flow has a server of its own choice
        api["PREFECT_API_URL"] = served("up", "--json").document["api_url"]
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=twelve.folder,
        env={**twelve.environment, **api},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [2, 2, ["latency_seconds"]]
