"""Tables in a terminal of 80 columns, and the session of a row as people know it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.cli.program import Program

ROOT = Path(__file__).parents[2]


def in_terminal(columns: int, *arguments: str) -> list[str]:
    """The lines that a command shows in a terminal."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    environment.pop("COLUMNS", None)
    with open(parent, "rb", buffering=0) as shown:
        command = [sys.executable, "-m", "rejudge.cli", *arguments]
        running = subprocess.Popen(command, stdout=child, stdin=child, stderr=subprocess.DEVNULL, env=environment)
        os.close(child)
        written = b""
        try:
            while more := shown.read(4096):
                written += more
        except OSError:  # how Linux says that nobody writes any more
            pass
        assert running.wait(timeout=60) == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", written.decode()).splitlines()


def test_a_terminal_of_80_columns_shows_sessions_without_words_in_pieces(five: Program) -> None:
    lines = in_terminal(80, "session", "list")
    assert re.split(r"\s{2,}|(?<=calls) ", lines[0].strip())[:4] == ["no.", "agent", "status", "started"]
    assert " id" not in lines[0]
    assert [line.split()[:3] for line in lines[1::2]] == [[str(n), "desk", "completed"] for n in range(1, 6)]


def test_a_wide_terminal_shows_their_ids_whole(five: Program) -> None:
    ids = [one["id"] for one in five("session", "list", "--json").document["items"]]
    assert [line.split()[-1] for line in in_terminal(160, "session", "list")[1:]] == ids


@pytest.mark.parametrize("noun", ["label", "evaluation"])
def test_rows_name_their_session_by_its_number(five: Program, noun: str) -> None:
    for number in (2, 4):
        assert five("label", "add", str(number), "tone", "--value", "warm").code == 0
    rows = five(noun, "list").out.splitlines()
    assert [row.split()[0] for row in rows] == ["session", "2", "4"]
    assert all("session_id" in row for row in five(noun, "list", "--json").document["items"])
