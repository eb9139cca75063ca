"""Flow runs of commands that were killed: Prefect would show them as running for ever.

A command writes down each flow run it begins, and strikes it out at its end. What a dead one left behind, the next
one reports as crashed. Worker-run flows need none of this: their heartbeats end.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from rejudge.api.owners import attempt, is_gone
from rejudge.settings import Settings

MESSAGE: Final = "the command that ran it was killed"


@contextmanager
def written_down(chosen: Settings, flow: Any) -> Iterator[Any]:
    """The flow, whose runs are written down while the block runs."""
    notes: list[Path] = []

    def note(_flow: Any, flow_run: Any, _state: Any) -> None:
        path = _folder(chosen) / f"{flow_run.id}.json"
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"owner": owner}))
            notes.append(path)

    with attempt() as owner:
        try:
            yield flow.with_options(on_running=[*flow.on_running_hooks, note])
        finally:
            for path in notes:
                path.unlink(missing_ok=True)


def report_crashes(chosen: Settings) -> int:
    """Tell Prefect of the flow runs whose commands were killed; how many there were."""
    dead = [path for path in _folder(chosen).glob("*.json") if _is_dead(path)]
    if dead:
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            for path in dead:
                with contextlib.suppress(Exception):  # a run that Prefect has forgotten is no reason to fail
                    _crash(client, path.stem)
                path.unlink(missing_ok=True)
    return len(dead)


def _crash(client: Any, flow_run_id: str) -> None:
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId
    from prefect.states import Crashed

    if not client.read_flow_run(flow_run_id).state.is_final():
        client.set_flow_run_state(flow_run_id, Crashed(message=MESSAGE), force=True)
    chosen = FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id]))
    for task_run in client.read_task_runs(flow_run_filter=chosen):
        if task_run.state is None or not task_run.state.is_final():
            client.set_task_run_state(task_run.id, Crashed(message=MESSAGE), force=True)


def _is_dead(path: Path) -> bool:
    try:
        owner = str(json.loads(path.read_text())["owner"])
    except (OSError, ValueError, KeyError):
        return True
    return is_gone(owner)


def _folder(chosen: Settings) -> Path:
    return chosen.prefect_home / "rejudge-running"
