"""Exports that Langfuse publishes as samples: read where they lie, skipped where they do not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rejudge.otel import assemble, read
from tests.otel.traces import joined

FOLDERS = (Path(__file__).parents[3] / "shared/data/public", Path(__file__).parents[2] / "tests/data/public")
FOLDER = next((folder for folder in FOLDERS if folder.exists()), FOLDERS[-1])
ROW = re.compile(
    r"^\| `(?P<file>[^`]+)` \| [^|]*\| 1 \| (?P<calls>\d+)\(0\) \| (?P<tools>\d+)\(0\)(?P<names>[^|]*)\|", re.M
)
ROWS = [row.groupdict() for row in ROW.finditer((FOLDER / "INDEX.md").read_text())] if FOLDER.exists() else []


@pytest.mark.skipif(not ROWS, reason="the public samples are not here")
@pytest.mark.parametrize("row", ROWS or [{}], ids=lambda row: row.get("file", "none"))
def test_a_langfuse_export_gives_its_counts(row: dict[str, str]) -> None:
    batch = joined(read([FOLDER / row["file"]], refuse=lambda refusal: pytest.fail(str(refusal))))

    (session,) = (recording.view.session for recording in assemble(batch.spans, batch.logs))

    assert (session.llm_call_count, session.tool_call_count) == (int(row["calls"]), int(row["tools"]))
    assert session.source == "langfuse"
    assert session.cost_status in ("recorded", "partial")
