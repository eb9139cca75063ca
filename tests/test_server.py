"""Finding the local server, without starting one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from rejudge import server, settings
from rejudge.errors import UsageError
from rejudge.served import deployment_name
from rejudge.settings import Settings


@pytest.fixture
def chosen(tmp_path: Path) -> Settings:
    return settings.current({"REJUDGE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)})


@contextmanager
def answering(body: bytes) -> Iterator[int]:
    """A port on which something answers every request with this."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield listening.server_port
        finally:
            listening.shutdown()
            thread.join()


def record(chosen: Settings, *, pid: int, port: int) -> Path:
    chosen.prefect_home.mkdir(parents=True, exist_ok=True)
    path = chosen.prefect_home / "rejudge-server.json"
    path.write_text(json.dumps({"pid": pid, "port": port, "prefect_version": "3"}))
    return path


def ended_process() -> int:
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    return done.pid


def test_a_server_that_answers_is_found(chosen: Settings) -> None:
    assert server.find(chosen) is None
    with answering(b"true") as port:
        record(chosen, pid=os.getpid(), port=port)
        found = server.find(chosen)
    assert found is not None
    assert (found.url, found.api_url) == (f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port}/api")


@pytest.mark.parametrize("body", [b"false", b"<html>", b""], ids=["unwell", "another program", "nothing"])
def test_what_does_not_answer_as_prefect_is_none(chosen: Settings, body: bytes) -> None:
    with answering(body) as port:
        record(chosen, pid=os.getpid(), port=port)
        assert server.find(chosen) is None


def test_a_dead_one_and_a_broken_record_count_as_none(chosen: Settings) -> None:
    with answering(b"true") as port:
        path = record(chosen, pid=ended_process(), port=port)
        assert server.find(chosen) is None
        path.write_text("{")
        assert server.find(chosen) is None


def test_stop_never_ends_a_process_that_only_has_the_number(chosen: Settings) -> None:
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        path = record(chosen, pid=other.pid, port=1)
        assert server.stop(chosen) is None
        assert other.poll() is None and not path.exists()
    finally:
        other.kill()
        other.wait()


def test_a_home_that_cannot_be_written_is_told(chosen: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        server.stop(replace(chosen, prefect_home=tmp_path / "file" / "prefect"))


def test_the_database_password_is_not_in_the_servers_environment(chosen: Settings) -> None:
    assert "REJUDGE_DATABASE_URL" not in server.variables(chosen)
    assert server.variables(chosen)["PREFECT_HOME"] == str(chosen.prefect_home)


def test_two_folders_never_share_a_deployment(chosen: Settings) -> None:
    other = replace(chosen, database_url="sqlite:////elsewhere/.rejudge/rejudge.db")
    odd = replace(chosen, folder=Path("/x/Ünïcode & more!/.rejudge"))
    names = {deployment_name(one) for one in (chosen, other)}
    assert len(names) == 2
    assert deployment_name(odd).replace("-", "").isascii()
