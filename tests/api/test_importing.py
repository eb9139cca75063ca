"""Imports: what they count, what they refuse, and what is there after one was killed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from benchmarks.generate import write_sessions
from rejudge.api.importing import import_traces
from rejudge.store.engine import Database, connect
from rejudge.store.schema import prepare
from tests.conftest import make_postgres_store

ROOT = Path(__file__).parents[2]
MOMENTS = 50
SESSIONS, NODES = 40, 8


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty sessions of eight nodes, as the Collector writes them."""
    path = tmp_path_factory.mktemp("traces") / "traces.jsonl"
    write_sessions(path, sessions=SESSIONS, nodes=NODES)
    return path


def test_an_import_counts_and_again_is_unchanged(database: Database, traces: Path) -> None:
    first = import_traces(database, [traces], agent="support-desk")
    again = import_traces(database, [traces], agent="support-desk")
    assert (first.new, first.updated, first.unchanged, first.refused) == (SESSIONS, 0, 0, ())
    assert (again.new, again.updated, again.unchanged) == (0, 0, SESSIONS)
    assert again.session_ids == first.session_ids


def test_late_spans_update_the_session_they_belong_to(database: Database, traces: Path, tmp_path: Path) -> None:
    halves = [tmp_path / "early.jsonl", tmp_path / "late.jsonl"]
    for half, path in enumerate(halves):
        path.write_text(half_of_the_spans(traces, half), "utf-8")
    import_traces(database, [halves[0]], agent="support-desk")
    report = import_traces(database, [halves[1]], agent="support-desk")
    assert (report.new, report.updated) == (1, SESSIONS - 1)  # of one, every model and tool span was late
    with closing(empty_store(tmp_path)) as whole:  # what is stored is the same on both engines
        import_traces(whole, [traces], agent="support-desk")
        assert sessions_of(database) == sessions_of(whole)


def test_what_cannot_be_read_is_refused_with_its_place_and_costs_only_itself(
    database: Database, traces: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    first, *others = traces.read_text("utf-8").splitlines(keepends=True)
    broken.write_text("".join([first, '{"resourceSpans": [nonsense]}\n', *others]), "utf-8")
    report = import_traces(database, [broken], agent="support-desk")
    assert report.new == SESSIONS
    [refusal] = report.refused
    assert (refusal.line, Path(refusal.path).name) == (2, "broken.jsonl")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_a_killed_import_done_again_equals_one_that_was_not(
    engine: str, traces: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    new_store = store_maker(engine, tmp_path, request)
    began = time.perf_counter()
    undisturbed = connect(new_store())
    import_traces(undisturbed, [traces], agent="support-desk", tags=["monday"])
    seconds = time.perf_counter() - began
    urls = [new_store() for _ in range(MOMENTS)]
    command = [sys.executable, "-m", "tests.api.killed_imports", str(traces), str(seconds), *urls]
    subprocess.run(command, cwd=ROOT, check=True, timeout=540)
    expected = rows_of(undisturbed)
    for url in urls:
        assert rows_of(connect(url)) == expected


def store_maker(engine: str, folder: Path, request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes empty stores of one engine, each with a URL of its own."""
    made: list[str] = []

    def sqlite() -> str:
        path = folder / f"{len(made)}.db"
        made.append(shutil.copyfile(request.getfixturevalue("sqlite_template"), path).name)
        return f"sqlite:///{path}"

    if engine == "sqlite":
        return sqlite
    server, template = request.getfixturevalue("postgres_url"), request.getfixturevalue("postgres_template")
    return lambda: make_postgres_store(server, template)


def half_of_the_spans(traces: Path, half: int) -> str:
    """The file with the spans whose ids begin with an even number, or an odd one."""
    lines = []
    for line in traces.read_text("utf-8").splitlines():
        request = json.loads(line)
        for resource in request["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                scope["spans"] = [span for span in scope["spans"] if int(span["spanId"][:8], 16) % 2 == half]
        lines.append(json.dumps(request))
    return "\n".join(lines)


def empty_store(folder: Path) -> Database:
    """Another store, on SQLite."""
    other = connect(f"sqlite:///{folder / 'whole.db'}")
    prepare(other)
    return other


def sessions_of(database: Database) -> list[tuple[Any, ...]]:
    """What every session came to, whatever its number."""
    query = (
        "SELECT external_id, digest, node_count, complete, llm_call_count, tool_call_count FROM session ORDER BY 1"
    )
    with database.read() as connection:
        return [(*row[:3], bool(row[3]), *row[4:]) for row in connection.execute(text(query))]


ROWS = (
    "SELECT number, external_id, source, status, digest, payload, complete, node_count FROM session ORDER BY number",
    "SELECT s.number, n.position, n.id, n.node_type, n.name, n.parent_id, n.started_at, n.payload_ref "
    "FROM node n JOIN session s ON s.id = n.session_id ORDER BY 1, 2",
    "SELECT digest, data FROM pack ORDER BY digest",
    "SELECT s.number, p.position, p.digest FROM session_pack p JOIN session s ON s.id = p.session_id ORDER BY 1, 2",
    "SELECT s.number, t.trace_id FROM session_trace t JOIN session s ON s.id = t.session_id ORDER BY 1, 2",
    "SELECT s.number, o.spans FROM session_source o JOIN session s ON s.id = o.session_id ORDER BY 1",
    "SELECT s.number, t.name FROM tag t JOIN session s ON s.id = t.session_id ORDER BY 1, 2",
    "SELECT name, value FROM counter ORDER BY 1",
)


def rows_of(database: Database) -> str:
    """Every row but for ids and the times of writing, in a comparable form."""
    with database.read() as connection:
        found = [[[str(value) for value in row] for row in connection.execute(text(query))] for query in ROWS]
    database.close()
    return json.dumps(found)
