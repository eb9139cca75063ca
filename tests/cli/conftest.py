"""The program, in an empty folder or over a store with sessions."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.program import Program
from tests.flows.stored import store_with_sessions


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Program]:
    """Commands in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("REJUDGE_DATABASE_URL", "PREFECT_API_URL", "PREFECT_HOME", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("REJUDGE_HOME", str(tmp_path / "home"))
    threshold = gc.get_threshold()
    yield Program(capsys)
    gc.set_threshold(*threshold)


@pytest.fixture
def five(program: Program, tmp_path: Path) -> Program:
    """The same where the store holds five sessions of the agent ``desk``."""
    store_with_sessions(tmp_path / ".rejudge" / "rejudge.db", 5).close()
    return program
