"""`rejudge session export`, as it is typed."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import rejudge
from rejudge.cli import main
from rejudge.models.evaluation import EvaluationResult
from rejudge.store.evaluations import Label, add_labels
from rejudge.store.writing import Placement, save_recordings
from tests.otel.receiving import Received, receiving
from tests.store.build import make_recording


@pytest.fixture
def folder(tmp_path: Path, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose store holds a labelled session and another one."""
    (tmp_path / ".rejudge").mkdir()
    (tmp_path / ".rejudge" / "rejudge.db").write_bytes(sqlite_template.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REJUDGE_DATABASE_URL", raising=False)
    with rejudge.open() as store:
        recordings = [make_recording("one"), make_recording("two")]
        saved = save_recordings(store.database, recordings, Placement(agent="desk", tags=("monday",)))
        add_labels(store.database, [Label(saved[0].session_id, EvaluationResult(True, name="good"))])
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["session", "export", *arguments])
    return int(ended.value.code or 0)


def test_the_format_is_told_by_the_files_ending(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--tag", "monday", "-o", "out.csv") == 0
    assert run("1", "--what", "nodes", "-o", "nodes.jsonl", "--json") == 0
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    said = capsys.readouterr().out.splitlines()
    assert [row["external_id"] for row in rows] == ["one", "two"]
    assert said[0] == "2 rows of sessions of 2 sessions: out.csv"
    assert json.loads(said[1]) == {"file": "nodes.jsonl", "sessions": 1, "rows": 3}


@pytest.mark.parametrize("form", ["jsonl", "otlp-json", "kitaru-jsonl", "otlp-evaluations"])
def test_lines_go_to_stdout_and_nothing_else_does(
    folder: Path, form: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run("--all", "--format", form) == 0
    lines = capfdbinary.readouterr().out.splitlines()
    assert [type(json.loads(line)) for line in lines] == [dict] * (1 if form == "otlp-evaluations" else 2)


def test_events_are_sent_with_the_tokens_of_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rejudge.otel.receiver import Rules

    received = Received()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20sesame")
    with receiving(folder / "spool", received, rules=Rules(token="sesame")) as client:
        endpoint = ("--format", "otlp-evaluations", "--endpoint", str(client.base_url))
        assert run("--all", *endpoint) == 0
        assert run("--all", *endpoint, "--header", "Authorization=Bearer wrong") == 8
    (record,) = received.batches[0].logs
    shown = capsys.readouterr()
    assert record.attributes["gen_ai.evaluation.name"] == "good"
    assert shown.out == "1 events accepted\n"
    assert "HTTP 401" in shown.err and "sesame" not in shown.err


WRONG = {
    "nothing named": (["-o", "x.csv"], 2, "no sessions are named"),
    "nothing there": (["--tag", "tuesday"], 4, "no session matches"),
    "no such table": (["--all", "--format", "otlp-json", "--what", "nodes"], 2, "has no nodes"),
    "endpoint for a table": (["--all", "--format", "csv", "--endpoint", "http://x"], 2, "--endpoint is for events"),
    "endpoint and file": (
        ["--all", "--format", "otlp-evaluations", "--endpoint", "http://x", "-o", "y"],
        2,
        "--endpoint is for events",
    ),
    "headers alone": (["--all", "--header", "a=b"], 2, "--header goes with --endpoint"),
    "header without value": (
        ["--all", "--format", "otlp-evaluations", "--endpoint", "http://x", "--header", "secret"],
        2,
        "a --header has no name or no =",
    ),
    "spreadsheet": (["--all", "-o", "x.xlsx"], 2, "the ending '.xlsx' of 'x.xlsx' names no format"),
    "compressed": (["--all", "-o", "x.csv.gz"], 2, "the ending '.gz' of 'x.csv.gz' names no format"),
    "no such folder": (["--all", "-o", "missing/x.csv"], 2, "has no folder 'missing' to be in"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_is_refused(folder: Path, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, code, said = WRONG[case]
    assert run(*arguments) == code
    shown = capsys.readouterr()
    assert said in shown.err and shown.out == ""
