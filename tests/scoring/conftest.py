"""Benches: evaluators in files, sessions in memory, processes for real."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rejudge.scoring.pool import WorkerPool
from tests.scoring.bench import ENVIRONMENT, Bench


@pytest.fixture(scope="module")
def shared_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    """Processes that the tests of one file share."""
    with WorkerPool(ENVIRONMENT, environments=tmp_path_factory.mktemp("environments")) as pool:
        yield pool


@pytest.fixture
def bench(tmp_path: Path, shared_pool: WorkerPool) -> Bench:
    """A folder of its own, and the file's processes."""
    return Bench(tmp_path, shared_pool)


@pytest.fixture(scope="module")
def shared_bench(tmp_path_factory: pytest.TempPathFactory, shared_pool: WorkerPool) -> Bench:
    """For evaluators that the tests of one file share."""
    return Bench(tmp_path_factory.mktemp("shared"), shared_pool)
