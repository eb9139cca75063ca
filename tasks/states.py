"""What a run came to, read the same way everywhere."""

from __future__ import annotations

from typing import Any


def result_of(state: Any) -> Any:
    """What a run returned, or the exception that it ended with.

    Plainly, also where the caller has an event loop running (a notebook): Prefect would give a coroutine there.
    """
    return state.result(raise_on_failure=False, _sync=True)
