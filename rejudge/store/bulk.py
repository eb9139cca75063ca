"""Inserting many rows without SQLAlchemy's parameters row by row; the columns' own types still convert."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, Table

Converter = tuple[int, Callable[[Any], Any]]


class _Plan(NamedTuple):
    statement: str
    pick: Callable[[Mapping[str, Any]], Sequence[Any]]
    """Gives the values of a row in the order of the columns."""
    converters: tuple[Converter, ...]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Inserts rows that hold a value for every column of the table; what else they hold is left out."""
    if not rows:
        return
    statement, pick, converters = _plan(table, connection.dialect)
    # Column by column: a loop over the cells of each row would cost as much as SQLite's own work.
    columns: list[Sequence[Any]] = list(zip(*map(pick, rows), strict=True))
    for index, convert in converters:
        columns[index] = [None if value is None else convert(value) for value in columns[index]]
    connection.exec_driver_sql(statement, list(zip(*columns, strict=True)))


@lru_cache(maxsize=64)
def _plan(table: Table, dialect: Dialect) -> _Plan:
    quote = dialect.identifier_preparer.quote
    names = ", ".join(quote(column.name) for column in table.columns)
    mark = "?" if dialect.name == "sqlite" else "%s"
    marks = ", ".join(mark for _ in table.columns)
    converters = []
    for index, column in enumerate(table.columns):
        convert = column.type.dialect_impl(dialect).bind_processor(dialect)
        if convert is not None:
            converters.append((index, convert))
    statement = f"INSERT INTO {quote(table.name)} ({names}) VALUES ({marks})"
    return _Plan(statement, itemgetter(*(column.name for column in table.columns)), tuple(converters))
