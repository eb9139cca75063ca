"""Sessions and what was judged of them, out to files and to OTLP endpoints."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Literal, TypeAlias, get_args

import orjson

from rejudge.api.tables import TABLES, What, rows, views
from rejudge.api.writing_tables import write_csv, write_jsonl, write_parquet
from rejudge.errors import UsageError
from rejudge.store.engine import Database
from rejudge.store.evaluations import Evaluation, Scoring, Wanted, list_evaluations, list_scorings

if TYPE_CHECKING:
    from rejudge.otel.export import Judged, Sent

Format: TypeAlias = Literal["jsonl", "csv", "parquet", "otlp-json", "kitaru-jsonl", "otlp-evaluations"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)

_TABLES: Final = {"jsonl": write_jsonl, "csv": write_csv, "parquet": write_parquet}
_WITHOUT_RESULT: Final = (
    "missing_input",
    "not_supported",
    "failed",
    "timed_out",
    "crashed",
    "invalid_result",
    "not_run",
)


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export came to."""

    sessions: int
    rows: int
    """Rows of a table, sessions, or events, as the format has it."""


def export(
    database: Database,
    session_ids: Sequence[str],
    target: str | Path | BinaryIO,
    *,
    format: Format,
    what: What = "sessions",
) -> Exported:
    """Writes sessions, or what belongs to them, in their order.

    Args:
        target: A file, which is there whole or as it was before; or an open binary stream.
        format: ``jsonl``, ``csv`` and ``parquet`` are tables of `what`; ``otlp-json`` is one export request of spans
            a line, ``kitaru-jsonl`` one session a line, ``otlp-evaluations`` one export request of events a line.
        what: ``sessions``, ``nodes``, ``evaluations`` or ``scorings``, for tables.

    Raises:
        UsageError: Where the file cannot be written, a format has no such table, or Parquet is not installed.
    """
    if format not in _TABLES and what != "sessions":
        raise UsageError(f"the format {format} has no {what}", mend=f"use --format {', '.join(_TABLES)} for them")
    with _opened(target) as file:
        if format in _TABLES:
            count = _TABLES[format](rows(database, what, session_ids), TABLES[what].columns, file)
        else:
            count = _write_lines(_LINES[format](database, session_ids), file)
    return Exported(len(session_ids), count)


def send_evaluations(
    database: Database,
    session_ids: Sequence[str],
    endpoint: str,
    *,
    headers: Mapping[str, str] | None = None,
) -> Sent:
    """Sends what was judged of sessions as ``gen_ai.evaluation.result`` events to an OTLP/HTTP endpoint.

    Scorings that ended without a result are events too, with the reason as ``error.type``.

    Args:
        endpoint: A URL; without a path, ``/v1/logs`` is added.
        headers: Sent with every request.

    Raises:
        UsageError: For a URL that is none.
        PartialFailure: Where the endpoint does not take a part of them.
    """
    from rejudge.otel.export import send

    return send(_events(database, session_ids), endpoint, headers=headers)


def _write_lines(lines: Iterable[bytes], file: BinaryIO) -> int:
    count = 0
    for line in lines:
        file.write(line)
        count += 1
    return count


def _otlp_lines(database: Database, session_ids: Sequence[str]) -> Iterator[bytes]:
    from rejudge.otel.export import traces_of

    for view in views(database, session_ids):
        yield orjson.dumps(traces_of(view)) + b"\n"


def _kitaru_lines(database: Database, session_ids: Sequence[str]) -> Iterator[bytes]:
    from rejudge.otel.export import line_of

    for view in views(database, session_ids):
        yield line_of(view)


def _event_lines(database: Database, session_ids: Sequence[str]) -> Iterator[bytes]:
    from rejudge.otel.export import request_of

    for event in _events(database, session_ids):
        yield orjson.dumps(request_of([event])) + b"\n"


_LINES: Final = {"otlp-json": _otlp_lines, "kitaru-jsonl": _kitaru_lines, "otlp-evaluations": _event_lines}


def _events(database: Database, session_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    from rejudge.otel.export import event_of

    for view in views(database, session_ids):
        mine = Wanted(session_ids=[view.session.id])
        for evaluation in list_evaluations(database, mine):
            yield event_of(_of_evaluation(evaluation), view)
        for scoring in list_scorings(database, Wanted(session_ids=[view.session.id], statuses=_WITHOUT_RESULT)):
            yield event_of(_of_scoring(scoring), view)


def _of_evaluation(row: Evaluation) -> Judged:
    from rejudge.otel.export import Judged

    unscored = row.data_type == "unscored"
    facts = {
        "rejudge.evaluation.id": row.id,
        "rejudge.evaluation.data_type": row.data_type,
        "rejudge.evaluation.min_score": row.min_score,
        "rejudge.evaluation.max_score": row.max_score,
        "rejudge.evaluation.target_score": row.target_score,
        "rejudge.evaluator.name": row.evaluator,
        "rejudge.evaluator.version": row.evaluator_version,
        "rejudge.evaluator.fingerprint": row.fingerprint,
        "rejudge.label.author": row.author,
    }
    return Judged(
        name=row.name,
        created_at=row.created_at,
        score=row.score,
        label=row.value,
        passed=row.passed,
        explanation=row.unscored if unscored else row.explanation,
        error_type="unscored" if unscored else None,
        facts=facts,
    )


def _of_scoring(row: Scoring) -> Judged:
    from rejudge.otel.export import Judged

    facts = {
        "rejudge.scoring.id": row.id,
        "rejudge.evaluator.name": row.evaluator,
        "rejudge.evaluator.version": row.evaluator_version,
        "rejudge.evaluator.fingerprint": row.fingerprint,
    }
    return Judged(
        name=row.evaluator, created_at=row.created_at, explanation=row.error, error_type=row.status, facts=facts
    )


@contextmanager
def _opened(target: str | Path | BinaryIO) -> Iterator[BinaryIO]:
    if not isinstance(target, str | Path):
        yield target
        target.flush()
        return
    path = Path(target)
    if not path.parent.is_dir() or path.is_dir():
        reason = "is a folder" if path.is_dir() else f"has no folder {str(path.parent)!r} to be in"
        raise UsageError(f"{str(path)!r} {reason}", mend="name a file in a folder that exists")
    if path.exists() and not path.is_file():  # a pipe or a device is written to, not replaced
        with path.open("wb") as file:
            yield file
        return
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise UsageError(
            f"cannot write to {str(path.parent)!r}: {error.strerror}", mend="name another file"
        ) from error
    beside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
