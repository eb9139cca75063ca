"""Trace files to rows: many sessions, very many spans, one long session, one long conversation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.generate import write_conversation, write_session, write_sessions, write_spans
from benchmarks.measure import BenchmarkFailed, Spent
from benchmarks.place import Place
from benchmarks.story import Counts

MIB = 1024 * 1024


def importing(place: Place) -> Iterator[Figure]:
    """CPU of ``rejudge session import`` per node, its start included, beside ``orjson.loads`` of the file."""
    sessions = 100 if place.quick else 1_000
    small, file = place.folder / "small.jsonl", place.folder / "sessions.jsonl"
    start = _import(place, small, write_sessions(small, sessions=1, nodes=2))
    counts = write_sessions(file, sessions=sessions, nodes=20)
    spent = _import(place, file, counts)
    again = place.rejudge("session", "import", str(file), "--agent", "support-desk")
    bare = place.bare("reading", str(file))["cpu_seconds"]
    yield Figure(
        f"{counts.spans:,} nodes imported",
        spent.cpu_seconds * 1e6 / counts.spans,
        "us CPU each",
        aim=40.0,
        baseline=bare * 1e6 / counts.spans,
        baseline_is="orjson.loads",
        note=f"wall {spent.wall_seconds:.1f} s, {file.stat().st_size / MIB:.0f} MiB",
    )
    yield Figure(
        "  beyond an import of two nodes",
        (spent.cpu_seconds - start.cpu_seconds) * 1e6 / counts.spans,
        "us CPU each",
        note=f"that import: {start.cpu_seconds:.2f} s CPU, a new database included",
    )
    yield Figure("  the same again: all unchanged", again.cpu_seconds * 1e6 / counts.spans, "us CPU each")


def memory(place: Place) -> Iterator[Figure]:
    """A file of 1,000,000 spans, and one of a tenth: memory stays, time grows with the file."""
    most = 50_000 if place.quick else 1_000_000
    each: list[float] = []
    for spans in (most // 10, most):
        file = place.folder / f"{spans}.jsonl"
        counts = write_spans(file, spans=spans)
        spent = _import(place, file, counts)
        each.append(spent.cpu_seconds * 1e6 / spans)
        size = file.stat().st_size / MIB
        file.unlink()
        yield Figure(f"{spans:,} spans: memory at most", spent.peak_bytes / MIB, "MiB", aim=300.0)
        yield Figure("  time", each[-1], "us CPU each", note=f"wall {spent.wall_seconds:.0f} s, {size:,.0f} MiB")
    yield Figure("  CPU of a span, ten times the file", each[1] / each[0], "times", aim=1.3)


def large_session(place: Place) -> Iterator[Figure]:
    """One session of 20,000 nodes: imported, and judged by every built-in evaluator that needs no parameters."""
    nodes = 2_000 if place.quick else 20_000
    file = place.folder / "session.jsonl"
    counts = write_session(file, nodes=nodes)
    spent = _import(place, file, counts)
    bare = place.bare("reading", str(file))["cpu_seconds"]
    yield Figure(
        f"one session of {nodes:,} nodes imported",
        spent.cpu_seconds,
        "s CPU",
        aim=1.5,
        baseline=bare,
        baseline_is="orjson.loads",
        note=f"{file.stat().st_size / MIB:.0f} MiB",
    )
    judged = place.bare("thirteen", f"sqlite:///{place.database}")
    yield Figure("  judged by all thirteen", judged["cpu_seconds"], "s CPU", aim=1.5, note="reading it included")


def conversation(place: Place) -> Iterator[Figure]:
    """100 turns, every model call repeating all before it: what is stored of it."""
    turns = 20 if place.quick else 100
    file = place.folder / "conversation.jsonl"
    counts = write_conversation(file, turns=turns)
    spent = _import(place, file, counts)
    size = file.stat().st_size
    stored = place.rows("SELECT coalesce(sum(length(data)), 0) FROM pack")[0][0]
    database = place.database.stat().st_size
    yield Figure(
        f"{turns} turns: payloads stored", 100 * stored / size, "% of the file", aim=5.0, note=f"{size / MIB:.1f} MiB"
    )
    yield Figure("  the whole database file", 100 * database / size, "% of the file")
    yield Figure("  imported", spent.cpu_seconds, "s CPU")


def _import(place: Place, file: Path, counts: Counts) -> Spent:
    if place.database.exists():
        for part in place.database.parent.iterdir():
            part.unlink()
    spent = place.rejudge("session", "import", str(file), "--agent", "support-desk")
    sessions, nodes = place.rows("SELECT count(*), sum(node_count) FROM session")[0]
    totals = place.rows("SELECT sum(llm_call_count), sum(tool_call_count), sum(input_tokens) FROM session")[0]
    if (sessions, *totals) != (counts.sessions, counts.model_calls, counts.tool_calls, counts.input_tokens):
        raise BenchmarkFailed(f"imported {sessions} sessions, {nodes} nodes, {totals}; the file holds {counts}")
    return spent
