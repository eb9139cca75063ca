"""The baselines: bare loops over the same rows or bytes, each in a process of its own.

python -m benchmarks.bare scoring DATABASE_URL
python -m benchmarks.bare reading FILE
python -m benchmarks.bare thirteen DATABASE_URL
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def scoring(url: str) -> int:
    """Score every session by the three signals, one after the other, and keep nothing."""
    from rejudge.evaluators import cost, latency, tool_call_patterns
    from rejudge.store.engine import connect
    from rejudge.store.reading import load_views, read_sessions

    database = connect(url)
    count = 0
    with database.read() as connection:
        ids = [session.id for session in read_sessions(connection)]
    for start in range(0, len(ids), 50):
        for view in load_views(database, ids[start : start + 50]):
            for evaluator in (cost, latency, tool_call_patterns):
                evaluator.evaluate(view)
                count += 1
    return count


def reading(file: str) -> int:
    """Decode every line as JSON, and keep nothing."""
    import orjson

    count = 0
    with Path(file).open("rb") as lines:
        for line in lines:
            orjson.loads(line)
            count += 1
    return count


def thirteen(url: str) -> int:
    """Judge every session by each built-in evaluator that works without parameters or has some to be given."""
    from importlib import import_module

    from rejudge.store.engine import connect
    from rejudge.store.reading import load_views, read_sessions

    database = connect(url)
    with database.read() as connection:
        ids = [session.id for session in read_sessions(connection)]
    (view,) = load_views(database, ids)
    for name, params in THIRTEEN.items():
        import_module(f"rejudge.evaluators.{name}").evaluate(view, **params)
    return len(THIRTEEN)


THIRTEEN: dict[str, dict[str, Any]] = {
    "cost": {},
    "latency": {},
    "tool_call_patterns": {},
    "session_diagnostics": {},
    "output_contract": {"required_paths": ["/0"]},
    "trajectory_signals": {},
    "tool_health": {},
    "timing_profile": {},
    "llm_call_signals": {},
    "resource_budget": {"max_nodes": 100_000},
    "tool_policy": {"required_tools": ["lookup_order"]},
    "model_policy": {"allowed_providers": ["openai", "anthropic"]},
    "workflow_conformance": {"expected_tools": ["lookup_order"], "mode": "contains_all"},
}

LOOPS: dict[str, Callable[[str], int]] = {"scoring": scoring, "reading": reading, "thirteen": thirteen}


def main() -> None:
    """Run the loop that was asked for twice, and print what the second time took: the first one imports."""
    loop = LOOPS[sys.argv[1]]
    gc.set_threshold(50_000, 20, 100)  # as in an evaluator's process
    loop(sys.argv[2])
    cpu, wall = time.process_time(), time.monotonic()
    count = loop(sys.argv[2])
    spent = {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.monotonic() - wall, "count": count}
    print(json.dumps(spent))


if __name__ == "__main__":
    main()
