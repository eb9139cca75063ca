"""Tables, traces and events out of a store."""

from __future__ import annotations

import csv
import io
import json
import os
import stat
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejudge.api.exporting import FORMATS, export
from rejudge.api.tables import TABLES
from rejudge.api.writing_tables import write_csv
from rejudge.errors import UsageError
from rejudge.models.evaluation import EvaluationResult
from rejudge.store.engine import Database
from rejudge.store.evaluations import Label, add_labels
from rejudge.store.writing import Placement, save_recordings
from tests.store.build import START, make_recording

HOSTILE = '=HYPERLINK("http://evil")'


@pytest.fixture
def stored(database: Database) -> tuple[Database, list[str]]:
    """Two sessions, one of them labelled with something a spreadsheet would run."""
    recordings = [make_recording("one", name=HOSTILE), make_recording("two", steps=4)]
    ids = [one.session_id for one in save_recordings(database, recordings, Placement(agent="a", tags=("x", "y")))]
    result = EvaluationResult(0.5, name="quality", explanation="+1 for tone", min_score=0, max_score=1)
    add_labels(database, [Label(ids[0], result, author="ann")])
    return database, ids


def exported(database: Database, ids: list[str], **how: str) -> bytes:
    target = io.BytesIO()
    export(database, ids, target, **how)  # type: ignore[arg-type]
    return target.getvalue()


def test_jsonl_has_every_field_as_the_command_line_shows_it(stored: tuple[Database, list[str]]) -> None:
    database, ids = stored
    first, second = (json.loads(line) for line in exported(database, ids[::-1], format="jsonl").splitlines())
    assert [first["id"], second["id"]] == ids[::-1]
    assert second["inputs"] == {"question": "Where is my order?"}
    assert (second["cost"], second["started_at"], second["tags"]) == (0.0012, "2026-05-01T12:00:00+00:00", ["x", "y"])
    assert (second["name"], second["input_tokens"]) == (HOSTILE, None)


def test_nodes_and_evaluations_name_their_session(stored: tuple[Database, list[str]]) -> None:
    database, ids = stored
    nodes = [json.loads(line) for line in exported(database, ids, format="jsonl", what="nodes").splitlines()]
    rows = [json.loads(line) for line in exported(database, ids, format="jsonl", what="evaluations").splitlines()]
    assert [one["session_id"] for one in nodes] == [ids[0]] * 3 + [ids[1]] * 4
    assert (nodes[1]["tool_name"], nodes[1]["inputs"]) == ("lookup_order", {"order": 1})
    assert [(one["session_id"], one["name"], one["score"], one["author"]) for one in rows] == [
        (ids[0], "quality", 0.5, "ann")
    ]


@pytest.mark.parametrize("what", TABLES)
def test_csv_has_a_heading_and_the_same_rows(stored: tuple[Database, list[str]], what: str) -> None:
    database, ids = stored
    rows = list(csv.reader(io.StringIO(exported(database, ids, format="csv", what=what).decode(), newline="")))
    lines = exported(database, ids, format="jsonl", what=what).splitlines()
    assert rows[0] == list(TABLES[what].columns)  # type: ignore[index]
    assert len(rows) == len(lines) + 1
    assert all(len(row) == len(rows[0]) for row in rows)


def test_csv_shows_values_as_they_are_and_runs_none(stored: tuple[Database, list[str]]) -> None:
    database, ids = stored
    reader = csv.DictReader(io.StringIO(exported(database, ids, format="csv").decode(), newline=""))
    row = next(reader)
    assert row["name"] == "'" + HOSTILE
    assert (row["cost"], row["complete"], row["error"], row["tags"]) == ("0.0012", "true", "", '["x","y"]')


@given(
    st.lists(
        st.text(st.characters(exclude_categories=()))
        | st.lists(st.text())
        | st.dictionaries(st.text(), st.text())
        | st.none(),
        min_size=1,
    )
)
def test_no_cell_is_one_that_a_spreadsheet_would_run(values: list[object]) -> None:
    target = io.BytesIO()
    write_csv([{"a": value} for value in values], {"a": "json"}, target)
    rows = list(csv.reader(io.StringIO(target.getvalue().decode(), newline="")))
    cells = [row[0] for row in rows[1:] if row]
    assert not [
        cell
        for cell in cells
        if cell.lstrip()[:1] in ("=", "+", "-", "@", "\t", "\r", "|", "%") and not is_number(cell)
    ]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.extras
def test_parquet_keeps_types(stored: tuple[Database, list[str]], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    database, ids = stored
    for what in TABLES:
        export(database, ids, tmp_path / what, format="parquet", what=what)
    sessions = parquet.read_table(tmp_path / "sessions").to_pylist()
    rows = parquet.read_table(tmp_path / "evaluations").to_pylist()
    assert (sessions[0]["cost"], sessions[0]["started_at"], sessions[0]["tags"]) == (
        Decimal("0.0012"),
        START,
        ["x", "y"],
    )
    assert json.loads(sessions[0]["inputs"]) == {"question": "Where is my order?"}
    assert (rows[0]["score"], rows[0]["passed"]) == (0.5, None)
    assert parquet.read_table(tmp_path / "nodes").num_rows == 7
    assert parquet.read_table(tmp_path / "scorings").num_rows == 0


def test_parquet_without_pyarrow_says_what_to_install(
    stored: tuple[Database, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    database, ids = stored
    with pytest.raises(UsageError) as caught:
        export(database, ids, tmp_path / "x.parquet", format="parquet")
    assert caught.value.mend == 'pip install "rejudge[parquet]"'
    assert list(tmp_path.glob("*.parquet*")) == []


@pytest.mark.parametrize("format", ["otlp-json", "kitaru-jsonl"])
def test_sessions_are_lines_of_other_forms(stored: tuple[Database, list[str]], format: str) -> None:
    database, ids = stored
    lines = [json.loads(line) for line in exported(database, ids, format=format).splitlines()]
    assert len(lines) == 2
    assert lines[0].keys() >= ({"resourceSpans"} if format == "otlp-json" else {"external_id", "nodes"})


def test_evaluations_are_events(stored: tuple[Database, list[str]]) -> None:
    database, ids = stored
    (line,) = exported(database, ids, format="otlp-evaluations").splitlines()
    (record,) = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    attributes = {one["key"]: next(iter(one["value"].values())) for one in record["attributes"]}
    assert record["eventName"] == "gen_ai.evaluation.result"
    assert (attributes["gen_ai.evaluation.name"], attributes["gen_ai.evaluation.score.value"]) == ("quality", 0.5)
    assert attributes["rejudge.label.author"] == "ann"


@pytest.mark.parametrize("format", [one for one in FORMATS if one not in ("jsonl", "csv", "parquet")])
def test_only_tables_have_rows_to_choose(stored: tuple[Database, list[str]], format: str) -> None:
    with pytest.raises(UsageError, match="has no nodes"):
        exported(*stored, format=format, what="nodes")


def test_a_file_is_there_whole_or_as_it_was(stored: tuple[Database, list[str]], tmp_path: Path) -> None:
    database, ids = stored
    target = tmp_path / "out.jsonl"
    target.write_text("before")
    target.chmod(0o640)
    with pytest.raises(Exception, match="no session"):
        export(database, [*ids, "01900000-0000-7000-8000-000000000000"], target, format="jsonl")
    assert target.read_text() == "before"
    export(database, ids, target, format="jsonl")
    assert len(target.read_text().splitlines()) == 2
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir() if "jsonl" in path.name] == ["out.jsonl"]


def test_a_device_is_written_to_and_stays(stored: tuple[Database, list[str]]) -> None:
    export(*stored, "/dev/null", format="jsonl")
    assert not os.path.isfile("/dev/null")


@pytest.mark.parametrize("target", ["", "missing/x.jsonl"])
def test_a_target_that_cannot_be_is_refused(stored: tuple[Database, list[str]], tmp_path: Path, target: str) -> None:
    with pytest.raises(UsageError, match=r"is a folder|has no folder"):
        export(*stored, tmp_path / target, format="jsonl")
