"""Seeded trace files: the same arguments write the same bytes.

A file is what the Collector's file exporter writes of a busy service: OTLP/JSON, one request a line, spans in
the order in which they ended (children before their parents), several sessions at once.

    python -m benchmarks.generate sessions --sessions 1000 --nodes 20 --out sessions.jsonl
    python -m benchmarks.generate spans --spans 1000000 --out many.jsonl
    python -m benchmarks.generate session --nodes 20000 --out long.jsonl
    python -m benchmarks.generate conversation --turns 100 --out conversation.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.otlp import request_line
from benchmarks.story import AGENT, EPOCH, Counts, Story

SEED: Final = 20261130
"""What is used where nothing else is asked for."""

AT_ONCE: Final = 8
"""Sessions that run at the same time, so that one line holds spans of several."""

BATCH: Final = 256
"""Spans in one request."""

SHORT_HISTORY: Final = 6
"""Messages that a model call repeats in files whose full history would be too long to write."""

_SECOND = 1_000_000_000


def write_sessions(path: Path, *, sessions: int, nodes: int, seed: int = SEED, window: int | None = None) -> Counts:
    """Write `sessions` sessions of exactly `nodes` spans each, a session a trace.

    Args:
        nodes: At least 2: the agent's own span and a model call.
        window: Messages of history that a model call repeats; None: all of it.

    Returns:
        What an import of the file has to find.
    """
    counts = Counts()
    stories = (_spans_of(seed, index, nodes, window, counts) for index in range(sessions))
    _write(path, _interleaved(stories, AT_ONCE))
    return counts


def write_spans(path: Path, *, spans: int, nodes: int = 20, seed: int = SEED) -> Counts:
    """Write `spans` spans in sessions of `nodes` (the last one smaller), with a short history each."""
    whole, rest = divmod(spans, nodes)
    sizes = [nodes] * whole + ([rest] if rest >= 2 else [])
    if rest == 1:
        sizes[-1] += 1
    counts = Counts()
    stories = (_spans_of(seed, index, size, SHORT_HISTORY, counts) for index, size in enumerate(sizes))
    _write(path, _interleaved(stories, AT_ONCE))
    return counts


def write_session(path: Path, *, nodes: int, seed: int = SEED) -> Counts:
    """Write one session of `nodes` spans in one trace, with a short history in each model call."""
    counts = Counts()
    _write(path, _spans_of(seed, 0, nodes, SHORT_HISTORY, counts))
    return counts


def write_conversation(path: Path, *, turns: int, nodes: int = 4, seed: int = SEED) -> Counts:
    """Write one conversation: a trace of `nodes` spans per turn, every model call repeating all before it."""
    counts = Counts()
    story = Story(Random(f"{seed}/conversation"), EPOCH, counts)
    spans = (
        span for turn in range(turns) for span in story.turn(nodes, question=f"{turn + 1}. {story.desk.answer(3)}")
    )
    _write(path, spans)
    return counts


def _spans_of(seed: int, index: int, nodes: int, window: int | None, counts: Counts) -> Iterator[dict[str, Any]]:
    start = EPOCH + index * _SECOND * 3
    yield from Story(Random(f"{seed}/{index}"), start, counts, window).turn(nodes)


def _interleaved(stories: Iterator[Iterator[dict[str, Any]]], at_once: int) -> Iterator[dict[str, Any]]:
    """A span of each of the running stories in turn; one that is over makes room for the next."""
    running = deque(islice(stories, at_once))
    while running:
        story = running.popleft()
        span = next(story, None)
        if span is None:
            running.extend(islice(stories, 1))
        else:
            yield span
            running.append(story)


def _write(path: Path, spans: Iterator[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        while batch := list(islice(spans, BATCH)):
            file.write(request_line(batch, service=AGENT))


def main(arguments: list[str] | None = None) -> None:
    """Write one file and print, as JSON, what an import of it has to find."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description="Write seeded traces.")
    parser.add_argument("kind", choices=("sessions", "spans", "session", "conversation"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--nodes", type=int, default=20, help="spans of a session, or of a conversation's turn")
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(arguments)
    match given.kind:
        case "sessions":
            counts = write_sessions(given.out, sessions=given.sessions, nodes=given.nodes, seed=given.seed)
        case "spans":
            counts = write_spans(given.out, spans=given.spans, nodes=given.nodes, seed=given.seed)
        case "session":
            counts = write_session(given.out, nodes=given.nodes, seed=given.seed)
        case _:
            counts = write_conversation(given.out, turns=given.turns, nodes=given.nodes, seed=given.seed)
    print(json.dumps(asdict(counts)))


if __name__ == "__main__":
    main()
