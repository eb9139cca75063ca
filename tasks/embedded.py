"""Running a flow inside a command: finding Prefect's server, and leaving nothing unrecorded behind.

Prefect is imported inside the functions, once the environment says where its server is.
"""

from __future__ import annotations

import gc
import importlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from pydantic_core import to_jsonable_python

from rejudge import server, settings
from rejudge.errors import RejudgeError
from rejudge.models.requests import Request
from rejudge.scoring.version import EvaluatorSpec
from rejudge.settings import Settings
from rejudge.tasks import policy
from rejudge.tasks.canceling import cancelable
from rejudge.tasks.connections import ConnectionElsewhere, connection_of
from rejudge.tasks.leftovers import report_crashes, written_down
from rejudge.tasks.reaching import reaching
from rejudge.tasks.states import result_of
from rejudge.tasks.surroundings import Surroundings, surrounded

# The terminal has a progress bar and a closing line of our own; the flow run's page has the log.
_QUIET: Final = {
    "PREFECT_LOGGING_LEVEL": "WARNING",
    "PREFECT_LOGGING_LOGGERS_PREFECT_FLOW_RUNS_LEVEL": "INFO",
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
    "PREFECT_CLIENT_SERVER_VERSION_CHECK_ENABLED": "false",
}


@dataclass(frozen=True, slots=True)
class FlowEnd:
    """How a flow run ended."""

    flow_run_id: str
    name: str
    """The state's name, such as ``AllScored``."""
    message: str | None
    result: Any
    """What the flow returned with its state."""
    url: str | None
    """Its page; None where the server is gone when the command ends."""


@dataclass(frozen=True, slots=True)
class Place:
    """The Prefect server that a flow is run against."""

    api_url: str | None
    """None: Prefect's temporary one."""
    url: str | None


def find_place(chosen: Settings, *, ephemeral: bool, say: Callable[[str], None]) -> Place:
    """The Prefect server to use; started where there is none and one is wanted.

    In order: the temporary one where it is asked for; ``PREFECT_API_URL``; our local server; a temporary one in
    CI; our local server, started now.

    Args:
        ephemeral: Use Prefect's temporary server whatever else there is.
        say: Told in one line what happens.
    """
    if ephemeral:
        return Place(None, None)
    if chosen.prefect_api_url is not None:
        return Place(chosen.prefect_api_url, chosen.prefect_api_url.removesuffix("/").removesuffix("/api"))
    found = server.find(chosen)
    if found is None and chosen.ephemeral:
        return Place(None, None)
    found = found or server.find_or_start(chosen, say=say)
    return Place(found.api_url, found.url)


def connection_here(
    spec: EvaluatorSpec, name: str | None, *, say: Callable[[str], None] = lambda _: None
) -> dict[str, str]:
    """The variables of an evaluator's connection, outside of a flow; Prefect's server is asked only where it must be.

    Raises:
        UsageError: Where the connection is missing or does not fit.
    """
    try:
        return connection_of(spec, name, ask_prefect=False)
    except ConnectionElsewhere:
        chosen = settings.current()
        place = find_place(chosen, ephemeral=False, say=say)
        with _connected(chosen, place), reaching(place.api_url):
            return connection_of(spec, name, ask_prefect=True)


def run_flow(
    home: str,
    request: Request,
    *,
    by: Surroundings,
    ephemeral: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> FlowEnd:
    """Run one flow here, to its end.

    SIGTERM is answered like Ctrl-C: what runs is stopped, what was finished is stored.

    Args:
        home: ``module:attribute`` of the flow.
        request: Its one parameter.
        by: What it finds around it.

    Raises:
        RejudgeError: What the flow itself refused, or a server that cannot be reached.
        KeyboardInterrupt: When it was interrupted.
    """
    chosen = settings.current()
    with _inside_flow() as inside:
        if inside:
            return _call(home, request, by=by, place=Place(None, None), say=say)
    place = find_place(chosen, ephemeral=ephemeral, say=say)
    with _connected(chosen, place), _stopped_by_signals(by.stop), reaching(place.api_url):
        report_crashes(chosen)
        end = _call(home, request, by=by, place=place, say=say)
        if place.api_url is None:
            _drain(end.flow_run_id, by.tally.task_runs, say=say)
        return end


def _call(home: str, request: Request, *, by: Surroundings, place: Place, say: Callable[[str], None]) -> FlowEnd:
    module, _, attribute = home.partition(":")
    flow = getattr(importlib.import_module(module), attribute)
    with ExitStack() as stack:
        stack.enter_context(surrounded(by))
        if place.api_url is not None:
            flow = stack.enter_context(cancelable(flow, say=say))
        flow = stack.enter_context(written_down(settings.current(), flow))
        # Prefect's own way imports FastAPI, a tenth of a second, and comes to the same.
        flow.serialize_parameters = to_jsonable_python
        state = flow(request, return_state=True)
    result = result_of(state)
    if isinstance(result, RejudgeError):
        raise result
    if isinstance(result, BaseException):
        message = f"the flow ended {state.name}: {state.message}"
        raise RejudgeError(message, mend=f"see {place.url}" if place.url else None) from result
    run = str(state.state_details.flow_run_id)
    url = f"{place.url}/runs/flow-run/{run}" if place.url else None
    return FlowEnd(flow_run_id=run, name=state.name or "", message=state.message, result=result, url=url)


@contextmanager
def _inside_flow() -> Iterator[bool]:
    """True where this is called from a flow that runs already: its server is the one."""
    if "prefect" not in sys.modules:
        yield False
        return
    from prefect.context import FlowRunContext

    yield FlowRunContext.get() is not None


@contextmanager
def _connected(chosen: Settings, place: Place) -> Iterator[None]:
    """Prefect imported and pointed at the place; heartbeats off, whose thread would cost each flow a second."""
    loaded = "prefect" in sys.modules
    settings.reach_this_machine()
    settings.put_defaults({**server.variables(chosen), **_QUIET})
    if place.api_url is not None:
        settings.put({"PREFECT_API_URL": place.api_url})
    else:
        settings.drop("PREFECT_API_URL")
        settings.put({"PREFECT_SERVER_EPHEMERAL_ENABLED": "true"})
    with _no_garbage_collection():
        from prefect.settings import (
            PREFECT_API_URL,
            PREFECT_FLOWS_HEARTBEAT_FREQUENCY,
            PREFECT_SERVER_EPHEMERAL_ENABLED,
            temporary_settings,
        )
    updates: dict[Any, Any] = {PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}
    if loaded:  # the environment came too late for it
        updates |= {PREFECT_API_URL: place.api_url, PREFECT_SERVER_EPHEMERAL_ENABLED: place.api_url is None}
    with temporary_settings(updates):
        yield


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Importing makes a million objects that stay: collecting among them is an eighth of its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    """SIGINT and SIGTERM set `stop` and raise KeyboardInterrupt; only the main thread can listen."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        raise KeyboardInterrupt

    with ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, interrupt))
        yield


def _drain(flow_run_id: str, submitted: int, *, say: Callable[[str], None]) -> None:
    """Wait until the temporary server, which goes with this process, has written down how every task run ended."""
    deadline = time.monotonic() + policy.DRAIN_SECONDS
    recorded = _ended_task_runs(flow_run_id)
    while recorded < submitted and time.monotonic() < deadline:
        time.sleep(0.1)
        recorded = _ended_task_runs(flow_run_id)
    if recorded < submitted:
        say(f"Prefect recorded {recorded} of {submitted} task runs before its temporary server ended")


def _ended_task_runs(flow_run_id: str) -> int:
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import (
        FlowRunFilter,
        FlowRunFilterId,
        TaskRunFilter,
        TaskRunFilterState,
        TaskRunFilterStateType,
    )
    from prefect.client.schemas.objects import TERMINAL_STATES

    ended = TaskRunFilterState(type=TaskRunFilterStateType(any_=list(TERMINAL_STATES)))
    with get_client(sync_client=True) as client:
        body = {
            "flow_runs": FlowRunFilter(id=FlowRunFilterId(any_=[flow_run_id])).model_dump(mode="json"),
            "task_runs": TaskRunFilter(state=ended).model_dump(mode="json"),
        }
        return int(client.request("POST", "/task_runs/count", json=body).json())
