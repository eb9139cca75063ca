"""`rejudge session export`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rejudge.cli.opening import opened
from rejudge.cli.output import Output, output_options
from rejudge.cli.selecting import required, selection_options
from rejudge.errors import PartialFailure, UsageError

if TYPE_CHECKING:
    from rejudge.models.selection import Selection

_FORMATS: Final = ("jsonl", "csv", "parquet", "otlp-json", "kitaru-jsonl", "otlp-evaluations")
_WHAT: Final = ("sessions", "nodes", "evaluations", "scorings")
_BY_ENDING: Final = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@click.command()
@selection_options
@click.option(
    "--format", "form", type=click.Choice(_FORMATS), help="Else told by the file's ending; without one jsonl."
)
@click.option("--what", type=click.Choice(_WHAT), default="sessions", show_default=True, help="For tables: the rows.")
@click.option("-o", "--output", "target", metavar="FILE", help="The file to write; - or none is stdout.")
@click.option("--endpoint", metavar="URL", help="With otlp-evaluations: the OTLP/HTTP endpoint to send them to.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="Sent to the endpoint. Repeat.")
@output_options
def export(
    output: Output,
    *,
    selection: Callable[[], Selection | None],
    form: str | None,
    what: Any,
    target: str | None,
    endpoint: str | None,
    headers: tuple[str, ...],
) -> int:
    """Write sessions, or what was judged of them, for other programs.

    jsonl, csv and parquet are tables; otlp-json is traces in the GenAI conventions, kitaru-jsonl Kitaru's own form.
    otlp-evaluations are gen_ai.evaluation.result events: with --endpoint they are sent there, with what
    OTEL_EXPORTER_OTLP_HEADERS names.
    """
    chosen = required(selection())
    wanted: Any = form or _told_by_ending(target)
    if endpoint is not None:
        if wanted != "otlp-evaluations" or target is not None:
            raise UsageError("--endpoint is for events", mend="use --format otlp-evaluations, without --output")
        return _send(output, chosen, endpoint, headers)
    if headers:
        raise UsageError("--header goes with --endpoint", mend="name the endpoint too")
    if target == "-":
        target = None
    if target is None and wanted == "parquet" and sys.stdout.isatty():
        raise UsageError("Parquet is nothing for a terminal", mend="name a file with -o")
    with opened() as store:
        ids = store.sessions.select(chosen, ended=False).session_ids
        done = store.sessions.export(ids, target or sys.stdout.buffer, format=wanted, what=what)
    sentence = f"{done.rows:,} {_counted(wanted, what)} of {done.sessions:,} sessions"
    if target is None:
        output.note(sentence)
    else:
        output.result({"file": target, "sessions": done.sessions, "rows": done.rows}, f"{sentence}: {target}")
    return 0


def _send(output: Output, chosen: Selection, endpoint: str, headers: tuple[str, ...]) -> int:
    from rejudge import settings

    given = {**settings.current().otlp_headers, **_pairs(headers)}
    with opened() as store:
        ids = store.sessions.select(chosen, ended=False).session_ids
        sent = store.sessions.send_evaluations(ids, endpoint, headers=given)
    counts = {"accepted": sent.accepted, "rejected": sent.rejected, "messages": list(sent.messages)}
    rejected = f", {sent.rejected:,} rejected" if sent.rejected else ""
    output.result(counts, f"{sent.accepted:,} events accepted{rejected}")
    for message in sent.messages:
        output.note(f"the endpoint says: {message}")
    return PartialFailure.exit_code if sent.rejected else 0


def _pairs(headers: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for header in headers:
        name, equals, value = header.partition("=")
        if not equals or not name.strip():
            raise UsageError("a --header has no name or no =", mend="write --header NAME=VALUE")
        found[name.strip().lower()] = value.strip()
    return found


def _told_by_ending(target: str | None) -> str:
    ending = Path(target or "-").suffix.lower()
    if not ending:
        return "jsonl"
    if ending not in _BY_ENDING:
        # A spreadsheet or an archive by its name would hold neither.
        raise UsageError(
            f"the ending {ending!r} of {target!r} names no format",
            mend=f"say it with --format, or end the file with {', '.join(_BY_ENDING)}",
        )
    return _BY_ENDING[ending]


def _counted(form: str, what: str) -> str:
    return {"otlp-evaluations": "events", "otlp-json": "traces", "kitaru-jsonl": "records"}.get(
        form, f"rows of {what}"
    )
