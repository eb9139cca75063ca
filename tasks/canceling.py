"""A flow run inside a command, canceled at Prefect: in its pages, or by ``prefect flow-run cancel``.

Prefect marks such a run as Cancelling and leaves the rest to the worker that runs it. Nobody but the command itself
runs this one; so the command looks from time to time, and ends as it does by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any
from uuid import UUID

from rejudge.tasks import policy

MESSAGE = "canceled at Prefect"


@contextmanager
def cancelable(flow: Any, *, say: Callable[[str], None]) -> Iterator[Any]:
    """The flow, whose run a person may cancel at Prefect while the block runs.

    Only where the main thread runs it: no other can be interrupted.

    Args:
        flow: A Prefect flow that nobody else runs.
        say: Told that it was canceled.

    Raises:
        KeyboardInterrupt: Where it was.
    """
    if threading.current_thread() is not threading.main_thread():
        yield flow
        return
    ended = threading.Event()
    canceled: list[UUID] = []

    def watch(_flow: Any, flow_run: Any, _state: Any) -> None:
        context = copy_context()  # Prefect's settings are in it
        look = threading.Thread(target=context.run, args=(_watch, flow_run.id, ended, canceled), daemon=True)
        look.name = "rejudge-canceling"
        look.start()

    try:
        yield flow.with_options(on_running=[*flow.on_running_hooks, watch])
    except KeyboardInterrupt:
        if canceled:
            say(MESSAGE)
            _note(canceled[0])
        raise
    finally:
        ended.set()


def _watch(flow_run_id: UUID, ended: threading.Event, canceled: list[UUID]) -> None:
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        while not ended.wait(policy.CANCEL_SECONDS):
            # A server that does not answer is the flow's to notice.
            with contextlib.suppress(Exception):
                state = client.read_flow_run(flow_run_id).state
                if state is not None and (state.is_cancelling() or state.is_cancelled()) and not ended.is_set():
                    canceled.append(flow_run_id)
                    os.kill(os.getpid(), signal.SIGINT)
                    return


def _note(flow_run_id: UUID) -> None:
    """Tell Prefect that it is done; without it the run would be Cancelling for ever."""
    from prefect.client.orchestration import get_client
    from prefect.states import Cancelled

    with contextlib.suppress(Exception), get_client(sync_client=True) as client:
        client.set_flow_run_state(flow_run_id, Cancelled(message=MESSAGE), force=True)
