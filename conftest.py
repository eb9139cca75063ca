"""How the suite is ordered; fixtures live under tests/."""

from pathlib import Path

import pytest

# Prefect keeps a client per event loop and leaves its sockets to the garbage collector.
LEFT_OPEN_BY_PREFECT = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
FLOW_TESTS = Path(__file__).parent / "tests" / "flows"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what needs a Prefect server last, and all of it in one worker: the server starts once."""
    for item in items:
        if FLOW_TESTS in item.path.parents:
            item.add_marker("prefect")
        if item.get_closest_marker("prefect"):
            item.add_marker(pytest.mark.xdist_group("prefect"))
            item.add_marker(LEFT_OPEN_BY_PREFECT)
    items.sort(key=lambda item: item.get_closest_marker("prefect") is not None)
