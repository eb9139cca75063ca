"""The flow `import-traces`: traces in files become sessions."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from rejudge.models.requests import ImportRequest
from rejudge.tasks.importing import finish_import, import_files
from rejudge.tasks.naming import import_name
from rejudge.tasks.threads import threads


@flow(name="import-traces", flow_run_name=import_name, task_runner=threads())
def import_traces(request: ImportRequest) -> State[Any]:
    """Import traces as sessions of an agent; what is there already stays as it is."""
    return finish_import(import_files("read and store the traces", request))
