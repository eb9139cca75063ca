"""Rows as JSON lines, CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO, Final

import orjson

from rejudge.api.tables import ColumnType, Row
from rejudge.errors import UsageError
from rejudge.models.canonical import canonical_text
from rejudge.models.safe_text import csv_cell

_ROWS_AT_ONCE: Final = 2_000


def write_jsonl(rows: Iterable[Row], columns: Mapping[str, ColumnType], file: BinaryIO) -> int:
    """One JSON object a line, as ``--json`` shows them: times in ISO form, money as a number.

    Returns:
        How many rows.
    """
    count = 0
    for row in rows:
        file.write(orjson.dumps(row, default=_plain) + b"\n")
        count += 1
    return count


def write_csv(rows: Iterable[Row], columns: Mapping[str, ColumnType], file: BinaryIO) -> int:
    """A heading and one line a row, UTF-8; no cell is one that a spreadsheet would run.

    Control characters are left out, and a quote stands before what begins like a formula.

    Returns:
        How many rows.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    count = 0
    for row in rows:
        writer.writerow([_cell(row[name]) for name in columns])
        count += 1
    text.detach()
    return count


def write_parquet(rows: Iterable[Row], columns: Mapping[str, ColumnType], file: BinaryIO) -> int:
    """A Parquet file: times as UTC microseconds, money as exact decimals, payloads as JSON text.

    Returns:
        How many rows.

    Raises:
        UsageError: Where pyarrow is not installed.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise UsageError("writing Parquet needs pyarrow", mend='pip install "rejudge[parquet]"') from error
    types = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "int": pyarrow.int64(),
        "float": pyarrow.float64(),
        "bool": pyarrow.bool_(),
        "time": pyarrow.timestamp("us", tz="UTC"),
        "money": pyarrow.decimal128(38, 18),
        "json": pyarrow.string(),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns.items()])
    count = 0
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(rows):
            held = {name: [_FOR_PARQUET[kind](row[name]) for row in group] for name, kind in columns.items()}
            writer.write_table(pyarrow.table(held, schema=schema))
            count += len(group)
    return count


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    iterator = iter(rows)
    while group := list(islice(iterator, _ROWS_AT_ONCE)):
        yield group


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return csv_cell(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int | float):
        return repr(value)
    return csv_cell(_json(value) or "")


def _json(value: Any) -> str | None:
    return None if value is None else canonical_text(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(type(value).__name__)


def _same(value: Any) -> Any:
    return value


_FOR_PARQUET: Final[Mapping[ColumnType, Callable[[Any], Any]]] = {
    "text": _same,
    "texts": lambda value: list(value or ()),
    "int": _same,
    "float": lambda value: None if value is None else float(value),
    "bool": _same,
    "time": _same,
    # More digits than the column has are rounded: arrow would refuse the whole file.
    "money": lambda value: None if value is None else round(value, 18),
    "json": _json,
}
