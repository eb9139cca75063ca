"""Inserting many rows without SQLAlchemy's parameters row by row; the columns' own types still convert."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import compress
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, Table
from sqlalchemy.types import TypeEngine

from rejudge.store.types import UtcDateTime

Convert = Callable[[Sequence[Any]], Sequence[Any]]


class _Plan(NamedTuple):
    statement: str
    conversions: tuple[tuple[int, Convert], ...]
    """Which columns are converted, and how all their values are."""


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Inserts rows that hold a value for every column of the table; what else they hold is left out."""
    names = tuple(column.name for column in table.columns)
    insert_values(connection, table, names, list(map(itemgetter(*names), rows)))


def insert_values(
    connection: Connection, table: Table, names: tuple[str, ...], rows: Sequence[Sequence[Any]]
) -> None:
    """Inserts rows of values; a column without any is left to the database, whose columns default to NULL.

    Args:
        names: The columns that the values belong to, in the order of the values.
    """
    if not rows:
        return
    # Column by column: a loop over the cells of each row would cost as much as SQLite's own work.
    columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
    given = [any(value is not None for value in column) for column in columns]
    columns = list(compress(columns, given))
    statement, conversions = _plan(table, tuple(compress(names, given)), connection.dialect)
    for index, convert in conversions:
        columns[index] = convert(columns[index])
    connection.exec_driver_sql(statement, list(zip(*columns, strict=True)))


@lru_cache(maxsize=256)
def _plan(table: Table, names: tuple[str, ...], dialect: Dialect) -> _Plan:
    quote = dialect.identifier_preparer.quote
    mark = "?" if dialect.name == "sqlite" else "%s"
    columns = ", ".join(map(quote, names))
    marks = ", ".join(mark for _ in names)
    converts = [_convert(table.columns[name].type, dialect) for name in names]
    return _Plan(
        f"INSERT INTO {quote(table.name)} ({columns}) VALUES ({marks})",
        tuple((index, convert) for index, convert in enumerate(converts) if convert is not None),
    )


def _convert(kind: TypeEngine[Any], dialect: Dialect) -> Convert | None:
    if isinstance(kind, UtcDateTime):
        return partial(kind.bind_column, dialect=dialect)
    bind = kind.dialect_impl(dialect).bind_processor(dialect)
    if bind is None:
        return None
    return lambda values: [None if value is None else bind(value) for value in values]
