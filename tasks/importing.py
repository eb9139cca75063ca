"""The import task: trace files to stored sessions."""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from rejudge.api.importing import ImportReport
from rejudge.api.importing import import_traces as import_into
from rejudge.errors import StoreError
from rejudge.models.requests import ImportRequest
from rejudge.models.safe_text import markdown, one_line
from rejudge.tasks import policy
from rejudge.tasks.evaluating import open_database
from rejudge.tasks.states import result_of
from rejudge.tasks.surroundings import around


def may_help(_task: Any, _run: Any, state: Any) -> bool:
    """Only a database that could not be used is tried again."""
    return isinstance(result_of(state), StoreError)


@task(
    cache_policy=NO_CACHE,
    task_run_name="{title}",
    retries=policy.CHUNK_RETRIES,
    retry_delay_seconds=policy.RETRY_BASE_SECONDS,
    retry_condition_fn=may_help,
)
def read_and_store(title: str, request: ImportRequest) -> ImportReport:
    """Import traces; importing the same again changes nothing, so another attempt does no harm."""
    return import_into(open_database(), request.paths, agent=request.agent, tags=request.tags)


def import_files(title: str, request: ImportRequest) -> ImportReport:
    """Import the request's traces as one task run."""
    around().tally.add()
    return read_and_store(title, request)


def finish_import(report: ImportReport) -> State[Any]:
    """Publish what an import came to, and the state that says so."""
    refused = len(report.refused)
    sentence = f"{report.new:,} new, {report.updated:,} updated, {report.unchanged:,} unchanged, {refused:,} refused"
    create_markdown_artifact(f"## Imported\n\n{markdown(sentence)}", key="import", description=sentence)
    if refused:
        rows = [{"refused": one_line(str(one), limit=500)} for one in report.refused[: policy.TABLE_ROWS_MAX]]
        create_table_artifact(rows, key="refused", description=f"{refused:,} refused")
        return Failed(name="DoneInPart", message=sentence, data=report)
    return Completed(name="Imported", message=sentence, data=report)
