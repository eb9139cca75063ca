"""The desk's model server, and the log of what its tools really did."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import ModelServer

from .desk import Desk, served


@pytest.fixture
def desk_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the tools write that they ran."""
    path = tmp_path / "desk.log"
    monkeypatch.setenv("DESK_LOG", str(path))
    return path


@pytest.fixture
def server(desk_log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model that plays the desk."""
    with served(Desk(), monkeypatch) as running:
        yield running
