"""Inserting many rows without SQLAlchemy's parameters row by row; the columns' own types still convert."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Table

Converter = tuple[int, Callable[[Any], Any]]


def insert_rows(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Inserts rows that hold a value for every column of the table."""
    if not rows:
        return
    statement, converters = _plan(table, connection.dialect)
    pick = itemgetter(*(column.name for column in table.columns))
    values = []
    for row in rows:
        picked = list(pick(row))
        for index, convert in converters:
            if picked[index] is not None:
                picked[index] = convert(picked[index])
        values.append(tuple(picked))
    connection.exec_driver_sql(statement, values)


@lru_cache(maxsize=64)
def _plan(table: Table, dialect: Dialect) -> tuple[str, tuple[Converter, ...]]:
    quote = dialect.identifier_preparer.quote
    names = ", ".join(quote(column.name) for column in table.columns)
    mark = "?" if dialect.name == "sqlite" else "%s"
    marks = ", ".join(mark for _ in table.columns)
    converters = []
    for index, column in enumerate(table.columns):
        convert = column.type.dialect_impl(dialect).bind_processor(dialect)
        if convert is not None:
            converters.append((index, convert))
    return f"INSERT INTO {quote(table.name)} ({names}) VALUES ({marks})", tuple(converters)
