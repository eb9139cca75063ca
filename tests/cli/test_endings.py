"""How a command ends where the machine, the database or Prefect's server fails it: never as a failed gate, 1."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.cli.program import Program

PROGRAM = f"{sys.executable} -m rejudge.cli"
FULL = Path("/dev/full")


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line as a user types it, in this folder."""
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    return subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(not FULL.exists(), reason="a device that is always full is Linux's")
@pytest.mark.parametrize("command", ["session list", "session export 1", "session show 1", "--help"])
def test_a_full_disk_under_the_output_is_said_in_a_sentence(five: Program, command: str) -> None:
    ended = shell(f"{PROGRAM} {command} > {FULL}")
    assert ended.returncode == 8
    assert ended.stderr.splitlines()[0] == "error: No space left on device"
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(not FULL.exists(), reason="a device that is always full is Linux's")
def test_a_full_disk_under_a_file_names_no_rule_of_a_gate(five: Program) -> None:
    ended = five("session", "export", "1", "-o", str(FULL))
    assert ended.code == 8 and ended.err.startswith("error: No space left on device")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_takes_everything(five: Program, closed: str) -> None:
    assert shell(f"{PROGRAM} session list {closed}").returncode == 0


def test_a_file_that_is_no_database_is_refused(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("notes.txt").write_text("not a database\n" * 100)
    monkeypatch.setenv("REJUDGE_DATABASE_URL", "sqlite:///notes.txt")
    ended = program("session", "list")
    what, mend = ended.err.splitlines()
    assert ended.code == 2 and "notes.txt cannot be used: file is not a database" in what
    assert "REJUDGE_DATABASE_URL" in mend


def test_a_folder_that_cannot_be_made_is_refused(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("file").write_text("")
    monkeypatch.setenv("REJUDGE_DATABASE_URL", "sqlite:///file/store.db")
    ended = program("session", "list")
    assert ended.code == 2 and ended.err.startswith("error: the folder 'file' of the database cannot be made")


def test_a_database_server_that_is_down_is_no_wrong_command(
    program: Program, monkeypatch: pytest.MonkeyPatch, nobody: str
) -> None:
    address = nobody.rpartition("@")[2].removesuffix("/api")
    monkeypatch.setenv("REJUDGE_DATABASE_URL", f"postgresql://user:sesame@{address}/rejudge")
    ended = program("session", "list")
    assert ended.code == 8 and "cannot be used: connection failed" in ended.err and "sesame" not in ended.err


def test_an_address_that_cannot_be_read_is_not_quoted(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJUDGE_DATABASE_URL", "postgresql://user@db.example:sesame/rejudge")
    ended = program("session", "list")
    assert ended.code == 2 and "sesame" not in ended.err and "%40" in ended.err


@pytest.mark.parametrize("asked", [(), ("--json",)], ids=["text", "json"])
def test_what_nobody_foresaw_is_no_failed_rule(five: Program, asked: tuple[str, ...]) -> None:
    with sqlite3.connect(".rejudge/rejudge.db") as connection:
        connection.execute("UPDATE session SET started_at = 'yesterday'")
    connection.close()
    ended = five("session", "list", *asked)
    assert ended.code == 8 and ended.out == ""
    said = json.loads(ended.err)["error"] if asked else ended.err
    assert "rejudge itself failed: " in said and ("Traceback" in said) is not bool(asked)


class Refusing(BaseHTTPRequestHandler):
    """A web server that is not Prefect's."""

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def not_prefect() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/api"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nothing listens, held so that nothing will."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"http://user:sesame@127.0.0.1:{held.getsockname()[1]}/api"


def judged(url: str, *more: str) -> subprocess.CompletedProcess[str]:
    return shell(
        f"PREFECT_API_URL={url} {PROGRAM} session evaluate --all --evaluator rejudge/cost@latest {' '.join(more)}"
    )


@pytest.mark.parametrize("more", [(), ("--detach",)], ids=["here", "handed over"])
def test_a_prefect_server_that_is_down_is_named(five: Program, nobody: str, more: tuple[str, ...]) -> None:
    ended = judged(nobody, *more)
    what, mend = ended.stderr.splitlines()  # and no warning of Prefect's
    assert ended.returncode == 8 and "does not answer: " in what and nobody.rpartition("@")[2] in what
    assert "PREFECT_API_URL" in mend and "sesame" not in ended.stderr


def test_a_server_that_is_not_prefects_is_named(five: Program, not_prefect: str) -> None:
    ended = judged(not_prefect)
    assert ended.returncode == 8 and f"{not_prefect} answers 404 Not Found" in ended.stderr.splitlines()[0]


def test_an_address_of_prefect_that_is_none_is_a_wrong_setting(five: Program) -> None:
    ended = judged("127.0.0.1:4200")
    assert ended.returncode == 2 and "PREFECT_API_URL is '127.0.0.1:4200'" in ended.stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("file", "why"),
    [("missing/report.html", "has no folder 'missing' to be in"), ("", "is a folder"), (".rejudge", "is a")],
    ids=["no folder", "an unset variable", "a folder"],
)
@pytest.mark.parametrize("option", ["--html", "--markdown"])
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(
    five: Program, option: str, file: str, why: str
) -> None:
    five("agent", "register", "desk", "--command", "cat")
    five("cohort", "create", "all", "--all")
    five("experiment", "create", "same", "--evaluator", "rejudge/cost@latest")
    ended = five("experiment", "run", "same", "--cohort", "all@1", option, file)
    assert ended.code == 2 and why in ended.err
    assert five("replay", "list", "--json").document["count"] == 0
