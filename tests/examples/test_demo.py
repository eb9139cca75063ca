"""`make demo`, whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.prefect
def test_the_demo_goes_from_traces_to_a_verdict_and_leaves_nothing_running(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    done = subprocess.run(
        [sys.executable, str(DEMO), "--folder", str(folder)], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    for said in (
        "7 new",
        "21 scored",
        "made customers@1 of 12 sessions",
        "refund_checked: regressed",
        "cost: improved",
    ):
        assert said in done.stdout
    page = (folder / "report.html").read_text("utf-8")
    assert "<html" in page and "The system prompt of the replays" in page
    assert [process for process in psutil.process_iter() if str(folder) in " ".join(arguments_of(process))] == []


def test_the_demo_removes_no_folder_that_it_did_not_make(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = subprocess.run([sys.executable, str(DEMO), "--folder", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert "name another folder" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def arguments_of(process: psutil.Process) -> list[str]:
    try:
        return [*process.cmdline(), process.environ().get("REJUDGE_HOME", "")]
    except psutil.Error:
        return []
