"""What an experiment run could not replay or score, member by member, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rejudge.cli.output import Output

if TYPE_CHECKING:
    from rejudge.api import Store
    from rejudge.tasks.experimenting import ExperimentReport

_SHOWN: Final = 10


def members_document(report: ExperimentReport) -> dict[str, Any]:
    """The same as JSON."""
    failed = [
        {
            "session_id": one.baseline_session_id,
            "replay": one.number,
            "trial": one.trial,
            "status": one.status,
            "reason": one.error,
        }
        for one in report.failed
    ]
    refused = [{"session_id": one.session_id, "reason": one.reason} for one in report.refused]
    return {
        "replays": {"completed": len(report.replays) - len(failed), "failed": failed, "refused": refused},
        "lost": list(report.lost),
        "scorings": report.scorings.facts() if report.scorings is not None else None,
        "flow_run_id": report.run.flow_run_id,
        "url": report.url,
    }


def say_what_is_missing(output: Output, store: Store, report: ExperimentReport) -> None:
    """Tell a person, on stderr: the first few of each kind, and how many there are."""
    lines = list(_lines(store, report))
    for line in lines[:_SHOWN]:
        output.note(line)
    if len(lines) > _SHOWN:
        output.note(f"and {len(lines) - _SHOWN:,} more; --json lists them")
    if report.failed:
        count = f"{len(report.failed):,} of {len(report.replays):,} replays did not complete"
        output.note(f"{count}: rejudge replay list --run {report.run.reference}")
    if report.scorings is not None and report.scorings.not_scored:
        output.note(report.scorings.sentence)
    if report.url:
        output.note(f"the run: {report.url}")


def _lines(store: Store, report: ExperimentReport) -> Iterator[str]:
    from rejudge.store.selecting import session_numbers

    ids = [one.session_id for one in report.refused] + [one.baseline_session_id for one in report.failed]
    numbers = session_numbers(store.database, ids)
    for refused in report.refused:
        yield f"session {numbers.get(refused.session_id)}: not replayed: {refused.reason}"
    for one in report.failed:
        trial = f", trial {one.trial}" if report.run.spec["trials"] > 1 else ""
        yield (
            f"session {numbers.get(one.baseline_session_id)}{trial}: replay {one.number} "
            f"{one.status.replace('_', ' ')}: {one.error}"
        )
    for why in report.lost:
        yield f"not run: {why}"
