"""Agents that misbehave end in time, with the right status, and leave nothing running."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rejudge.replay import replay_session

from .build import agent, running_in, session

HOSTILE = {
    "hangs": ("import time\ndef run(inputs): time.sleep(600)", "timed_out"),
    "spins": ("def run(inputs):\n  while True: pass", "timed_out"),
    "ignores-sigterm": (
        "import signal, time\ndef run(inputs):\n  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n  time.sleep(600)",
        "timed_out",
    ),
    "exits": ("import os\ndef run(inputs): os._exit(0)", "crashed"),
    "kills-itself": ("import os, signal\ndef run(inputs): os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    "segfaults": ("import ctypes\ndef run(inputs): ctypes.string_at(0)", "crashed"),
    "forks-children": (
        "import subprocess, sys, time\ndef run(inputs):\n"
        "  [subprocess.Popen(['sleep', '614']) for _ in range(5)]\n  return 'done'",
        "completed",
    ),
    "leaves-a-daemon": (
        "import os, time\ndef run(inputs):\n"
        "  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n      os.execvp('sleep', ['sleep', '615'])\n"
        "    os._exit(0)\n  time.sleep(0.3)\n  return 'done'",
        "completed",
    ),
    "hangs-with-a-daemon": (
        "import os, signal, time\ndef run(inputs):\n"
        "  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "  if os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '616'])\n"
        "  time.sleep(600)",
        "timed_out",
    ),
    "keeps-forking": (
        "import os, time\ndef run(inputs):\n"
        "  if os.fork() == 0:\n    os.setsid()\n    while True:\n      time.sleep(0.002)\n"
        "      if os.fork() > 0: os._exit(0)\n  return 'done'",
        "completed",
    ),
    "hangs-at-exit": (
        "import atexit, time\natexit.register(time.sleep, 600)\ndef run(inputs): return 'done'",
        "completed",
    ),
    "leaves-a-thread": (
        "import threading, time\ndef run(inputs):\n  threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "  return 'done'",
        "completed",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_agent_that_misbehaves_ends_in_time_with_the_right_status_and_leaves_nothing(
    tmp_path: Path, kind: str
) -> None:
    source, status = HOSTILE[kind]
    limit = 1 if status == "timed_out" else 60
    started = time.monotonic()
    result = replay_session(session(), agent(tmp_path, source, timeout=limit))
    assert time.monotonic() - started < 20  # of which starting Python takes some
    assert result.status == status, (result.reason, result.output)
    assert not running_in(tmp_path)
    again = replay_session(session(), agent(tmp_path, "def run(inputs): return 'fine'"))
    assert (again.status, again.outputs) == ("completed", "fine")


def test_a_hundred_megabytes_of_output_are_counted_and_cut(tmp_path: Path) -> None:
    spec = agent(
        tmp_path,
        """
        import sys
        def run(inputs):
            print("first")
            for _ in range(100): sys.stdout.write("x" * 1_000_000)
            sys.stderr.write("\\nlast\\n")
            sys.stdout.flush()
            print("very last")
            return "done"
        """,
    )
    result = replay_session(session(), spec)
    assert result.status == "completed" and result.output_bytes > 100_000_000
    assert len(result.output) < 150_000 and result.output.startswith("first") and "very last" in result.output
    assert "bytes left out" in result.output


def test_an_agent_over_its_memory_limit_fails_alone(tmp_path: Path) -> None:
    spec = agent(tmp_path, "def run(inputs): return len(bytearray(4 << 30))")
    spec = spec.model_copy(update={"limits": spec.limits.model_copy(update={"memory_bytes": 1 << 30})})
    result = replay_session(session(), spec)
    assert result.status == "failed" and "MemoryError" in str(result.reason)
