"""One Prefect server for all of these tests, started as a user's first command starts it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rejudge.store.engine import Database
from tests.flows.commands import Commands, environment
from tests.flows.stored import fill, store_with_sessions


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Commands in a folder that is served; of the two that come first, one starts the server for both."""
    home = tmp_path_factory.mktemp("home")
    commands = Commands(tmp_path_factory.mktemp("served"), environment(home))
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: commands("up", "--json"), range(2))
    try:
        assert (first.code, second.code) == (0, 0), first.err + second.err
        assert first.document == second.document
        yield commands
    finally:
        commands("down")


@pytest.fixture(scope="session")
def home(served: Commands) -> Path:
    """A user's folder with a server up."""
    return Path(served.environment["REJUDGE_HOME"])


@pytest.fixture
def commands(home: Path, tmp_path: Path) -> Commands:
    """Commands in an empty folder."""
    return Commands(tmp_path, environment(home))


@pytest.fixture
def twelve(commands: Commands) -> Commands:
    """Commands in a folder whose store holds twelve sessions, numbered from 1."""
    store_with_sessions(commands.folder / ".rejudge" / "rejudge.db", 12).close()
    return commands


@pytest.fixture
def commands_anywhere(home: Path, tmp_path: Path, database: Database) -> Commands:
    """Commands in an empty folder, on SQLite and on PostgreSQL."""
    url = database.url.render_as_string(hide_password=False)
    return Commands(tmp_path, environment(home, REJUDGE_DATABASE_URL=url))


@pytest.fixture
def twelve_anywhere(commands_anywhere: Commands, database: Database) -> Commands:
    """A store that holds twelve sessions, on either."""
    fill(database, 12)
    return commands_anywhere
