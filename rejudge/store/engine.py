"""Opening a store: one engine per process, whole transactions, SQLite in WAL mode or PostgreSQL."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, InterfaceError, NoSuchModuleError, OperationalError

from rejudge.errors import StoreError, StoreUnreachable, UsageError

BUSY_TIMEOUT_MS: Final = 30_000


@dataclass(slots=True)
class Database:
    """A store's database. Safe to share between threads and across `fork`: each process gets its own engine."""

    url: URL
    _engines: dict[int, Engine] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def engine(self) -> Engine:
        """This process's engine."""
        pid = os.getpid()
        with self._lock:
            # The engine of a parent stays: letting go of it would close connections that the parent still uses.
            if pid not in self._engines:
                self._engines[pid] = _make_engine(self.url)
            return self._engines[pid]

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite, False for PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection on which nothing is written, seeing one state of the database."""
        with _translated(self), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction: all of it, or nothing where the block raises."""
        with (
            _translated(self),
            self.engine.connect() as connection,
            connection.execution_options(rejudge_write=True).begin(),
        ):
            yield connection

    def make_durable(self) -> None:
        """Returns once everything committed so far survives a power cut.

        SQLite's `synchronous=NORMAL` leaves the last commits of its log to the operating system.
        """
        log = Path(f"{self.url.database}-wal")
        if self.is_sqlite and log.exists():
            with log.open("rb") as file:
                os.fsync(file.fileno())

    def close(self) -> None:
        """Gives every connection of this process back."""
        with self._lock:
            engine = self._engines.pop(os.getpid(), None)
        if engine is not None:
            engine.dispose()


def connect(url: str) -> Database:
    """The database at a URL: ``sqlite:///path`` or ``postgresql://…``. Nothing is opened yet.

    Raises:
        UsageError: For a URL that cannot be read, or another kind of database.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        # Without the cause: it quotes what it took for the port, which may be the end of a password.
        raise UsageError(
            "the database URL cannot be read",
            mend="use sqlite:///file.db or postgresql://user@host:5432/name; in a password write @, : and / as %40, "
            "%3A and %2F",
        ) from None
    backend = parsed.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise UsageError(f"databases of kind {backend!r} are not supported", mend="use sqlite:/// or postgresql://")
    if backend == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg")
    elif parsed.database in (None, "", ":memory:"):
        raise UsageError("an in-memory SQLite database cannot be shared with flows", mend="use sqlite:///file.db")
    return Database(parsed)


def _make_engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        try:
            return create_engine(url, pool_pre_ping=True, pool_size=8, max_overflow=16)
        except NoSuchModuleError as error:
            raise StoreError("psycopg is not installed", mend='pip install "psycopg[binary]"') from error
    path = Path(url.database or "")
    if path.parent != Path():
        _make_folder(path.parent)
    # Kept open: the last connection that closes copies the whole log into the file.
    engine = create_engine(url, pool_size=8, max_overflow=-1, connect_args={"timeout": BUSY_TIMEOUT_MS / 1000})
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"the folder {str(folder)!r} of the database cannot be made: {error.strerror}",
            mend="go to a folder that is writable, or name another database with REJUDGE_DATABASE_URL",
        ) from error


def _set_up_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # we send BEGIN ourselves
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=NORMAL",
        "foreign_keys=ON",
        f"busy_timeout={BUSY_TIMEOUT_MS}",
        "cache_size=-8192",
        "temp_store=MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # A reader that turns writer meets SQLITE_BUSY at once, timeout or not: writers say so from the start.
    write = connection.get_execution_options().get("rejudge_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def _translated(database: Database) -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise _unusable(database, error) from error
    except DatabaseError as error:
        # Its own class: a file that is no database, or a damaged one. Below it are mistakes in what was asked.
        if type(error) is not DatabaseError:
            raise
        raise _unusable(database, error) from error


def _unusable(database: Database, error: DatabaseError | InterfaceError) -> StoreError:
    where = database.url.render_as_string(hide_password=True)
    reason = str(error.orig).strip().splitlines()[0] if error.orig else "unknown"
    said = f"the database {where} cannot be used: {reason}"
    if not database.is_sqlite:
        return StoreUnreachable(said, mend="check that the server is up and the URL is right")
    if "full" in reason:
        return StoreUnreachable(said, mend="make room on its disk; what was stored before is whole")
    if "not a database" in reason or "malformed" in reason:
        return StoreError(said, mend="name another file with REJUDGE_DATABASE_URL, or put a copy of it in its place")
    return StoreError(said, mend="check that the folder is writable and no other program holds the file")
