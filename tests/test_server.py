"""Looking after processes and locks: nothing waits without limit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rejudge.errors import RejudgeError
from rejudge.server import is_alive, locked, spawn_detached


def test_a_process_that_ended_is_not_alive_though_nobody_took_note() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert not is_alive(child.pid)
    finally:
        child.wait()


def test_this_process_is_alive() -> None:
    assert is_alive(os.getpid())


def test_a_lock_that_is_not_given_back_is_told_and_not_waited_for(tmp_path: Path) -> None:
    with (
        locked(tmp_path, "server"),
        pytest.raises(RejudgeError, match="another command has held"),
        locked(tmp_path, "server", limit=0.1),
    ):
        pass


def test_a_lock_can_be_taken_once_it_is_given_back(tmp_path: Path) -> None:
    with locked(tmp_path, "server"):
        pass
    with locked(tmp_path, "server", limit=0.1):
        pass


def test_what_goes_into_the_background_does_not_hold_up_who_sent_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    pid = spawn_detached(["/bin/sleep", "60"], log=log, folder=tmp_path, environment=dict(os.environ))
    try:
        assert is_alive(pid)
    finally:
        os.kill(pid, 9)
