"""The seeded trace files of the benchmarks."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generate import write_conversation, write_session, write_sessions, write_spans
from benchmarks.story import Counts

Write = Callable[..., Counts]

FILES = [
    pytest.param(write_sessions, {"sessions": 20, "nodes": 20}, id="sessions"),
    pytest.param(write_spans, {"spans": 333}, id="spans"),
    pytest.param(write_session, {"nodes": 500}, id="one session"),
    pytest.param(write_conversation, {"turns": 10}, id="conversation"),
]


@pytest.mark.parametrize(("write", "size"), FILES)
def test_the_same_seed_writes_the_same_bytes(write: Write, size: dict[str, int], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one", "two", "other")]
    write(files[0], **size)
    write(files[1], **size)
    write(files[2], **size, seed=1)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes() != files[2].read_bytes()


@pytest.mark.parametrize(("write", "size"), FILES)
def test_the_counts_are_those_of_the_file(write: Write, size: dict[str, int], tmp_path: Path) -> None:
    counts = write(tmp_path / "spans.jsonl", **size)
    spans = spans_of(tmp_path / "spans.jsonl")
    operations = Counter(value_of(span, "gen_ai.operation.name") for span in spans)
    conversations = {value_of(span, "gen_ai.conversation.id") for span in spans} - {None}
    assert counts.spans == len(spans) == len({(span["traceId"], span["spanId"]) for span in spans})
    assert (counts.model_calls, counts.tool_calls) == (operations["chat"], operations["execute_tool"])
    assert counts.sessions == len(conversations)
    failed = [span for span in spans if span["status"].get("code") == 2]
    assert len(failed) == counts.model_errors + counts.tool_errors


@pytest.mark.parametrize("nodes", [2, 3, 4, 5, 20, 21])
def test_a_session_has_exactly_the_nodes_asked_for(nodes: int, tmp_path: Path) -> None:
    write_sessions(tmp_path / "spans.jsonl", sessions=30, nodes=nodes)
    sizes = Counter(span["traceId"] for span in spans_of(tmp_path / "spans.jsonl"))
    assert set(sizes.values()) == {nodes}
    assert len(sizes) == 30


@pytest.mark.parametrize("spans", [2, 20, 21, 22, 400])
def test_a_file_has_exactly_the_spans_asked_for(spans: int, tmp_path: Path) -> None:
    counts = write_spans(tmp_path / "spans.jsonl", spans=spans)
    assert counts.spans == spans


def test_a_parent_ends_after_its_children_and_comes_after_them(tmp_path: Path) -> None:
    write_sessions(tmp_path / "spans.jsonl", sessions=20, nodes=20)
    ended: set[str] = set()
    for span in spans_of(tmp_path / "spans.jsonl"):
        assert span.get("parentSpanId") not in ended
        assert int(span["startTimeUnixNano"]) < int(span["endTimeUnixNano"])
        ended.add(span["spanId"])


def test_a_conversation_repeats_its_history_in_every_call(tmp_path: Path) -> None:
    write_conversation(tmp_path / "spans.jsonl", turns=5)
    spans = spans_of(tmp_path / "spans.jsonl")
    told = [json.loads(text) for span in spans if (text := value_of(span, "gen_ai.input.messages")) and is_chat(span)]
    for earlier, later in itertools.pairwise(told):
        assert later[: len(earlier)] == earlier
        assert len(later) > len(earlier)


def spans_of(path: Path) -> list[dict[str, Any]]:
    requests = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [
        span
        for request in requests
        for resource in request["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def value_of(span: dict[str, Any], key: str) -> Any:
    found = [next(iter(item["value"].values())) for item in span["attributes"] if item["key"] == key]
    return found[0] if found else None


def is_chat(span: dict[str, Any]) -> bool:
    return value_of(span, "gen_ai.operation.name") == "chat"
