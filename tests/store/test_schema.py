"""The schema and its migrations."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from rejudge.errors import StoreError, UsageError
from rejudge.store.engine import Database, connect
from rejudge.store.schema import HEAD, prepare, schema_version, upgrade
from rejudge.store.tables import Table


def test_migrations_make_exactly_the_tables(database: Database) -> None:
    with database.read() as connection:
        assert schema_version(connection) == HEAD
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Table.metadata) == []


def test_a_newer_store_is_refused_with_the_mend(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match="newer than this rejudge") as refusal:
        prepare(database)
    assert refusal.value.mend is not None and "upgrade" in refusal.value.mend


def test_upgrading_again_changes_nothing(database: Database) -> None:
    assert upgrade(database) == HEAD


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    database = connect(f"sqlite:///{tmp_path / 'other.db'}")
    with database.write() as connection:
        connection.execute(text("CREATE TABLE session (id INTEGER)"))
    with pytest.raises(StoreError, match="not rejudge's"):
        prepare(database)


@pytest.mark.parametrize("url", ["mysql://host/name", "not a url", "sqlite://", "sqlite:///:memory:"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        connect(url)


def test_a_server_that_is_away_is_named_without_its_password() -> None:
    database = connect("postgresql://user:hush@127.0.0.1:1/name?connect_timeout=2")
    with pytest.raises(StoreError) as refusal:
        prepare(database)
    assert "127.0.0.1" in refusal.value.message and "hush" not in refusal.value.message
