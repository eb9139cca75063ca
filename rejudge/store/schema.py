"""The schema's version: making it, bringing it up to date, refusing what does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Column, Connection, MetaData, PrimaryKeyConstraint, String, Table, inspect, text

from rejudge.errors import StoreError
from rejudge.store import tables
from rejudge.store.engine import Database

HEAD: Final = "0001"
"""The newest migration; a test holds it against the migrations folder."""

_KNOWN: Final = ("0001",)
_LOCK_KEY: Final = 7_364_112_905

_VERSION: Final = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Where Alembic notes which migrations a database has been through."""


def prepare(database: Database) -> None:
    """Makes an empty database ready, or checks that this one fits.

    Raises:
        StoreError: Where the store is older or newer than this rejudge, with what to run.
    """
    with database.read() as connection:
        version = schema_version(connection)
    if version == HEAD:
        return
    if version is None:
        upgrade(database)
        return
    if version in _KNOWN:
        raise StoreError(
            f"this store has schema {version}, this rejudge needs {HEAD}", mend="run: rejudge db upgrade"
        )
    raise StoreError(
        f"this store has schema {version}, which is newer than this rejudge knows ({HEAD})",
        mend="upgrade rejudge: pip install --upgrade rejudge",
    )


def schema_version(connection: Connection) -> str | None:
    """The store's schema version; None for an empty database.

    Raises:
        StoreError: Where the database holds tables that are not ours.
    """
    tables = set(inspect(connection).get_table_names())
    if "alembic_version" not in tables:
        if "session" in tables or "node" in tables:
            raise StoreError(
                "this database holds tables that are not rejudge's",
                mend="name another database in REJUDGE_DATABASE_URL",
            )
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def upgrade(database: Database) -> str:
    """Brings the store to the newest schema; safe when several processes do it at once.

    Returns:
        The schema version it now has.
    """
    with database.write() as connection:
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        version = schema_version(connection)
        if version is None:
            _make(connection)
        elif version != HEAD:
            migrate(connection)
    return HEAD


def migrate(connection: Connection) -> None:
    """Runs the migrations that a database has not been through, all of them where it is empty."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _make(connection: Connection) -> None:
    """Makes the tables as they are now: what all migrations come to, without a fifth of a second of Alembic."""
    tables.Table.metadata.create_all(connection, checkfirst=False)
    _VERSION.create(connection, checkfirst=False)
    connection.execute(_VERSION.insert().values(version_num=HEAD))
