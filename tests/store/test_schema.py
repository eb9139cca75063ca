"""The schema and its migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from rejudge.errors import StoreError, UsageError
from rejudge.store.engine import Database, connect
from rejudge.store.schema import HEAD, migrate, prepare, schema_version, upgrade
from rejudge.store.tables import Table


def _differences(connection: Connection) -> list[Any]:
    context = MigrationContext.configure(connection, opts={"compare_type": True})
    return list(compare_metadata(context, Table.metadata))


def test_a_new_store_holds_exactly_the_tables(database: Database) -> None:
    with database.read() as connection:
        assert schema_version(connection) == HEAD
        assert _differences(connection) == []


def test_migrations_make_exactly_the_tables(database: Database) -> None:
    with database.write() as connection:
        made = _columns(connection)
        Table.metadata.drop_all(connection)
        connection.execute(text("DROP TABLE alembic_version"))
        migrate(connection)
        assert schema_version(connection) == HEAD
        assert _differences(connection) == []
        assert _columns(connection) == made
        assert "scoring_id IS NULL" in made["evaluation"]["label_name_in_session"]


def _columns(connection: Connection) -> dict[str, dict[str, str]]:
    """Every table with its columns and indexes, the note of the version among them."""
    found = inspect(connection)
    made: dict[str, dict[str, str]] = {}
    for table in found.get_table_names():
        made[table] = {
            column["name"]: f"{column['type']} {column['nullable']}" for column in found.get_columns(table)
        }
        made[table] |= {str(one["name"]): f"{one['unique']} {_where(one)}" for one in found.get_indexes(table)}
    return made


def _where(index: Any) -> list[str]:
    return [str(value) for name, value in index.get("dialect_options", {}).items() if name.endswith("_where")]


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
    database.close()


@pytest.mark.parametrize("url", ["mysql://host/name", "not a url", "sqlite://", "sqlite:///:memory:"])
def test_other_databases_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        connect(url)


def test_a_server_that_is_away_is_named_without_its_password() -> None:
    database = connect("postgresql://user:hush@127.0.0.1:1/name?connect_timeout=2")
    with pytest.raises(StoreError) as refusal:
        prepare(database)
    assert "127.0.0.1" in refusal.value.message and "hush" not in refusal.value.message


def test_sessions_are_looked_for_by_their_ids_and_not_one_by_one(database: Database) -> None:
    if not database.is_sqlite:
        pytest.skip("how a small table is read is PostgreSQL's own business")
    with database.read() as connection:
        query = "EXPLAIN QUERY PLAN SELECT id FROM session WHERE agent_id = 'a' AND external_id IN ('b', 'c')"
        plan = " ".join(row[3] for row in connection.exec_driver_sql(query))
    assert "external_id=?" in plan
