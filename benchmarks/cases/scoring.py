"""1,000 sessions of 20 nodes by three evaluators, beside a bare loop over the same rows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.generate import write_sessions
from benchmarks.measure import BenchmarkFailed
from benchmarks.place import Place, ServerClock, prefect_server

SIGNALS = ("rejudge/cost@latest", "rejudge/latency@latest", "rejudge/tool-call-patterns@latest")


def scoring(place: Place) -> Iterator[Figure]:
    """CPU of ``rejudge session evaluate --all`` per scoring, all processes and its start included."""
    sessions = 100 if place.quick else 1_000
    write_sessions(place.folder / "first.jsonl", sessions=1, nodes=2)
    write_sessions(place.folder / "sessions.jsonl", sessions=sessions, nodes=20)
    evaluators = [part for signal in SIGNALS for part in ("--evaluator", signal)]
    with prefect_server(place) as server:
        # Once and for all: bytecode is written, and Prefect's server meets the flow.
        place.rejudge("session", "import", "first.jsonl", "--agent", "first")
        place.rejudge("session", "evaluate", "--all", *evaluators)
        place.rejudge("session", "import", "sessions.jsonl", "--agent", "support-desk")
        before = _stored(place)[0]
        clock = ServerClock(server)
        spent = place.rejudge("session", "evaluate", "--all", *evaluators)
        served = clock.seconds()
        stored = _stored(place)
        again = place.rejudge("session", "evaluate", "--all", *evaluators)
    made = stored[0] - before
    if made != sessions * 3 or stored[1] != stored[0] or _stored(place) != stored:
        raise BenchmarkFailed(f"{sessions} sessions by 3 evaluators gave (scorings, evaluations) {stored}")
    bare = place.bare("scoring", f"sqlite:///{place.database}")["cpu_seconds"] * 1_000 / stored[0]
    beyond = max(0.0, spent.cpu_seconds - again.cpu_seconds)
    yield Figure(
        f"{made:,} scorings stored",
        spent.cpu_seconds * 1_000 / made,
        "ms CPU each",
        aim=1.0,
        baseline=bare,
        baseline_is="bare loop",
        note=f"wall {spent.wall_seconds:.1f} s",
    )
    yield Figure(
        "  beyond a run that finds all scored",
        beyond * 1_000 / made,
        "ms CPU each",
        baseline=bare,
        baseline_is="bare loop",
        note=f"that run: {again.cpu_seconds:.2f} s CPU",
    )
    yield Figure("  Prefect's server beside it", served, "s CPU")


def _stored(place: Place) -> tuple[int, int]:
    scorings = place.rows(
        "SELECT count(*), count(DISTINCT session_id || evaluator) FROM scoring WHERE status = 'scored'"
    )
    evaluations = place.rows("SELECT count(*) FROM evaluation")
    count, distinct = scorings[0]
    if count != distinct:
        raise BenchmarkFailed(f"{count} scorings of {distinct} pairs of session and evaluator")
    return count, evaluations[0][0]
