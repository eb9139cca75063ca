"""From an entrypoint to the function that is called."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

LOAD = "from rejudge.replay.entrypoint import load_entrypoint as load; print(load('agent.py:run', '.')(None))"


def test_a_file_edited_twice_in_one_second_is_run_as_it_is_now(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    told, edited = [], int(time.time())
    for answer in ("1", "2"):
        agent = tmp_path / "agent.py"
        agent.write_text(f"import helper\ndef run(inputs): return {answer} * helper.ONE\n")
        (tmp_path / "helper.py").write_text("ONE = 1\n")
        os.utime(agent, (edited, edited))
        command = [sys.executable, "-c", LOAD]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        told.append(done.stdout.strip())
    assert told == ["1", "2"]
