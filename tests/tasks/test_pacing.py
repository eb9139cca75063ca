"""Chunks by measured time: few for what is quick, small for what is slow, never too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rejudge.tasks import policy
from rejudge.tasks.pacing import Pacer


def pacer(sessions: int, *, slow: bool = False, workers: int = 4, task_runs: int = 1000) -> Pacer:
    return Pacer([(str(number), (0,)) for number in range(sessions)], slow, workers, task_runs)


def taken(of: Pacer, seconds_per_session: float | None) -> list[int]:
    """Sizes of the chunks where each session takes that long."""
    sizes = []
    while of.left:
        sizes.append(len(of.take().sessions))
        of.learn(seconds_per_session)
    return sizes


def test_the_first_chunk_is_small_and_alone() -> None:
    first = pacer(10_000)
    assert first.at_once == 1
    assert len(first.take().sessions) == policy.FIRST_CHUNK_SESSIONS


def test_quick_sessions_go_in_few_large_chunks_by_one_process() -> None:
    quick = pacer(1_000)
    quick.take()
    quick.learn(0.001)
    assert quick.at_once == 1
    assert taken(quick, 0.001) == [500, 450]


def test_slower_ones_go_in_chunks_of_some_seconds_by_all_processes() -> None:
    slower = pacer(1_000)
    slower.take()
    slower.learn(0.3)
    assert slower.at_once == 4
    assert len(slower.take().sessions) == round(policy.CHUNK_SECONDS / 0.3)


def test_what_waits_for_a_backend_goes_in_chunks_of_its_own_size() -> None:
    assert taken(pacer(40, slow=True, workers=1), 2.0) == [15, 15, 10]


def test_a_first_chunk_that_takes_long_is_joined_by_small_ones() -> None:
    dragging = pacer(1_000)
    dragging.take()
    dragging.began = (dragging.began or 0.0) - policy.CHUNK_SECONDS - 1
    assert dragging.at_once == 4
    assert len(dragging.take().sessions) == policy.DRAGGING_CHUNK_SESSIONS


@given(
    sessions=st.integers(1, 30_000),
    seconds=st.none() | st.floats(1e-6, 100),
    workers=st.integers(1, 8),
    task_runs=st.integers(1, 1_400),
    slow=st.booleans(),
)
def test_every_session_is_taken_once_in_no_more_task_runs_than_allowed(
    sessions: int, seconds: float | None, workers: int, task_runs: int, slow: bool
) -> None:
    sizes = taken(pacer(sessions, slow=slow, workers=workers, task_runs=task_runs), seconds)
    assert sum(sizes) == sessions
    assert len(sizes) <= max(1, task_runs)
    assert min(sizes) >= 1
