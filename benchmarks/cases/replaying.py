"""Replays that the tape answers whole: a call, and a run of 20 nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.place import Place


def replaying(place: Place) -> Iterator[Figure]:
    """CPU of a tape-answered call, and of a replay in a process of its own, beside the agent's bare function."""
    calls = _measured(place, "calls", 20 if place.quick else 500)
    yield Figure(
        "a call that the tape answers",
        (calls["answered"] - calls["made"]) * 1_000,
        "ms CPU",
        aim=0.3,
        baseline=calls["made"] * 1_000,
        baseline_is="the call itself",
        note="reading the tape and writing the span included",
    )
    count = 20 if place.quick else 1_000
    runs = _measured(place, "runs", count)
    yield Figure(
        f"{count:,} replays of 20 nodes, two at a time",
        (runs["ours"] + runs["agents"]) * 1_000,
        "ms CPU each",
        aim=60.0,
        baseline=runs["bare"] * 1_000,
        baseline_is="the agent's function",
        note=f"wall {runs['wall_seconds']:.1f} s",
    )
    yield Figure("  of it in the agent's process", runs["agents"] * 1_000, "ms CPU each")


def _measured(place: Place, what: str, count: int) -> dict[str, float]:
    output = place.python("-m", "benchmarks.replays", what, str(count)).output
    measured: dict[str, float] = json.loads(output.splitlines()[-1])
    return measured
