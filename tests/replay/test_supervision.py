"""What happens to a run when those around it are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from rejudge.replay import replay_session

from .build import agent, running_in, session

PARENT = """
import sys
from rejudge.models.session import Session, SessionView
from rejudge.replay import agent_spec, replay_session
spec = agent_spec(entrypoint="agent.py:run", folder=sys.argv[1])
replay_session(SessionView(Session(id="b", inputs="hi")), spec)
"""

SLEEPS = """
    import os, signal, subprocess, time
    def run(inputs):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.Popen(["sleep", "617"], start_new_session=True)
        open("running", "w").close()
        time.sleep(600)
"""


def until(condition: object, seconds: float = 60) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "terminated"])
def test_when_whoever_asked_is_ended_so_is_the_agent_and_all_it_started(
    tmp_path: Path, number: signal.Signals
) -> None:
    agent(tmp_path, SLEEPS, timeout=300)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], env=environment) as parent:
        assert until((tmp_path / "running").exists) and list(scratch.iterdir())
        parent.send_signal(number)
        parent.wait()
    assert until(lambda: not running_in(tmp_path), seconds=20)
    assert until(lambda: not list(scratch.iterdir()))


def test_a_template_that_was_ended_is_started_again(tmp_path: Path) -> None:
    spec = agent(tmp_path, "def run(inputs): return 'fine'")
    assert replay_session(session(), spec).outputs == "fine"
    for child in psutil.Process().children():
        if "rejudge.replay.template" in " ".join(child.cmdline()):
            child.kill()
            child.wait()
    assert replay_session(session(), spec).outputs == "fine"


def test_an_agent_that_ends_its_warden_has_crashed_and_is_gone(tmp_path: Path) -> None:
    source = "import os, signal, time\ndef run(inputs):\n  os.kill(os.getppid(), signal.SIGKILL)\n  time.sleep(600)"
    result = replay_session(session(), agent(tmp_path, source))
    assert result.status == "crashed"
    assert until(lambda: not running_in(tmp_path))


def test_runs_see_nothing_of_each_other(tmp_path: Path) -> None:
    source = """
        import os, random, sys
        def run(inputs):
            os.environ["LEFT"] = sys.modules["left"] = "behind"
            return [random.random(), os.getpid()]
    """
    spec = agent(tmp_path, source)
    first, second = (replay_session(session(), spec).outputs for _ in range(2))
    assert first[0] != second[0] and first[1] != second[1]
    assert "LEFT" not in os.environ


def test_a_run_leaves_no_folder_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / "agent"
    folder.mkdir()
    replay_session(session(), agent(folder, "def run(inputs): return 1"))
    assert not list(tmp_path.glob("rejudge-replay-*"))
