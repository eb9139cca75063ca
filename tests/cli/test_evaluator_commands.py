"""An evaluator's life on the command line, but for running it in batches: written, tried, registered, deleted."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rejudge.models.session import Node, Session, SessionView
from rejudge.otel.export.traces import traces_of
from tests.cli.program import Program

REFUND = '''
from rejudge import EvaluationResult, SessionView

def evaluate(session: SessionView, *, minimum: int = 1) -> EvaluationResult:
    """Was a refund paid?"""
    refunds = [n for n in session.nodes if n.node_type == "tool_call" and n.tool_name == "refund_payment"]
    return EvaluationResult(name="refund_issued", score=len(refunds) >= minimum, passed=len(refunds) >= minimum,
                            explanation=f"{len(refunds)} refund call(s)")
'''

TONE = '''
import os
from rejudge import EvaluationResult

PROVIDER = "tone"
CONNECTION_SCHEMA = {
    "type": "object",
    "properties": {"api_key": {"type": "string"}, "region": {"type": "string"}},
    "required": ["api_key"],
}

def tone(session):
    """Asks a service."""
    return EvaluationResult(name="tone", value=os.environ["REJUDGE_TONE_API_KEY"], score=1)

'''

MANY = """
from rejudge import EvaluationResult, MissingInput

def fails(session):
    print("looked at", session.session.outputs)
    return 1 / 0

def several(session):
    return [EvaluationResult(name="length", score=3, max_score=5, direction="lower"),
            EvaluationResult(name="kind", value="refund", evidence={"nodes": ["tool-2"]}),
            EvaluationResult(name="reference", unscored="nothing expected")]

def missing(session):
    raise MissingInput("nothing expected")
"""


@pytest.fixture
def refund(program: Program, tmp_path: Path) -> Program:
    (tmp_path / "refund.py").write_text(REFUND)
    return program


@pytest.fixture
def many(program: Program, tmp_path: Path) -> Program:
    (tmp_path / "many.py").write_text(MANY)
    (tmp_path / "tone.py").write_text(TONE)
    return program


def test_unchanged_content_is_one_version_and_changed_content_says_what_changed(
    refund: Program, tmp_path: Path
) -> None:
    assert refund("evaluator", "register", "refund", "--script", "refund.py").out == "registered refund@1\n"
    assert refund("evaluator", "register", "refund", "--script", "refund.py").out == "refund@1 is unchanged\n"
    (tmp_path / "refund.py").write_text(REFUND + "\n# a remark\n")
    assert "refund@1 is unchanged" in refund("evaluator", "register", "refund", "--script", "refund.py").out
    (tmp_path / "refund.py").write_text(REFUND.replace("minimum: int = 1", "minimum: int = 2"))
    second = refund("evaluator", "register", "refund", "--script", "refund.py")
    assert second.out.splitlines() == [
        "registered refund@2",
        "  code: the script changed",
        "  parameters: minimum 1 became 2",
    ]
    (tmp_path / "refund.py").write_text(REFUND)
    first = refund("evaluator", "register", "refund", "--script", "refund.py")
    assert first.out == "refund@1 is unchanged\n" and "refund@latest is still refund@2" in first.err


def test_an_evaluator_that_is_not_there_is_told_by_its_nearest(refund: Program) -> None:
    refund("evaluator", "register", "refund", "--script", "refund.py")
    assert "did you mean refund@latest?" in refund("evaluator", "show", "refnd@1").err
    assert "it has 1; its newest is refund@latest" in refund("evaluator", "show", "refund@7").err
    refund("evaluator", "delete", "refund")
    gone = refund("evaluator", "show", "refund@1")
    assert (gone.code, "was deleted; its rows are there" in gone.err) == (4, True)
    assert [one["deleted"] for one in registered(refund, "--deleted")] == [True]
    assert registered(refund) == []
    refund("evaluator", "register", "refund", "--script", "refund.py")
    assert [one["number"] for one in registered(refund)] == [1]


def registered(program: Program, *options: str) -> list[Any]:
    items = program("evaluator", "list", *options, "--json").document["items"]
    return [one for one in items if not one["built_in"]]


TAMPERINGS = {
    "its source": ("refund_payment", "lookup_order"),
    "its digest too": None,
    "its fingerprint": ('"attribute": "evaluate"', '"attribute": "other"'),
    "all of it": (None, "{}"),
}


@pytest.mark.parametrize("change", TAMPERINGS.values(), ids=TAMPERINGS.keys())
def test_a_stored_script_that_was_tampered_with_is_refused_until_it_is_registered_again(
    refund: Program, tmp_path: Path, change: tuple[str | None, str] | None
) -> None:
    refund("evaluator", "register", "refund", "--script", "refund.py")
    tamper(tmp_path / ".rejudge" / "rejudge.db", change)
    refused = refund("evaluator", "test", "refund@1", "--sample")
    assert (refused.code, "puts it right" in refused.err) == (2, True), refused.err
    again = refund("evaluator", "register", "refund", "--script", "refund.py", "--json").document
    assert (again["reference"], again["created"], again["restored"]) == ("refund@1", False, True)
    assert refund("evaluator", "test", "refund@1", "--sample").code == 0


def tamper(path: Path, change: tuple[str | None, str] | None) -> None:
    from rejudge.models.canonical import digest_of

    with sqlite3.connect(path) as connection:
        [(text,)] = connection.execute("SELECT spec FROM evaluator_version")
        if change is None:
            spec = json.loads(text)
            spec["sources"] = {"refund.py": REFUND.replace("refund_payment", "lookup_order")}
            changed = json.dumps({**spec, "source_digest": digest_of(spec["sources"])})
        else:
            old, new = change
            changed = new if old is None else json.dumps(json.loads(text)).replace(old, new)
        assert changed != text
        connection.execute("UPDATE evaluator_version SET spec = ?", (changed,))
    connection.close()


def test_trying_shows_the_rows_as_they_would_be_stored(many: Program, tmp_path: Path) -> None:
    ended = many("evaluator", "test", "many.py:several", "--sample", "--json")
    [item] = ended.document["items"]
    rows = {row["name"]: row for row in item["results"]}
    assert (ended.code, item["status"]) == (0, "scored")
    assert {name: row["data_type"] for name, row in rows.items()} == {
        "length": "float",
        "kind": "str",
        "reference": "unscored",
    }
    assert (rows["length"]["max_score"], rows["length"]["direction"], rows["length"]["passed"]) == (5, "lower", None)
    assert rows["kind"]["evidence"] == {"nodes": ["tool-2"]}
    shown = many("evaluator", "test", "many.py:several", "--sample").out
    assert all(word in shown for word in ("length", "refund", "nothing expected", "unscored"))
    assert not (tmp_path / ".rejudge").exists()


def test_trying_shows_what_went_wrong_and_what_was_printed(many: Program) -> None:
    ended = many("evaluator", "test", "many.py:fails", "--sample")
    assert (ended.code, "ZeroDivisionError: division by zero" in ended.out) == (8, True)
    assert '  File "many.py", line' in ended.err and "it printed: looked at I am sorry" in ended.err
    missing = many("evaluator", "test", "many.py:missing", "--sample")
    assert (missing.code, "missing_input" in missing.out, "nothing expected" in missing.out) == (8, True, True)


def test_trying_gives_it_its_connection_and_hides_the_secret(many: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    target = ("evaluator", "test", "tone.py:tone", "--sample")
    bare = many(*target)
    assert (bare.code, "REJUDGE_TONE_API_KEY is not set" in bare.err) == (2, True)
    monkeypatch.setenv("REJUDGE_TONE_API_KEY", "sk-very-secret-1")
    plain = many(*target)
    assert (plain.code, "*** (1)" in plain.out, "sk-very" in plain.out + plain.err) == (0, True, False)
    monkeypatch.setenv("REJUDGE_CONNECTION_NIGHT_API_KEY", "sk-very-secret-2")
    named = many(*target, "--connection", "night", "--json")
    assert named.document["items"][0]["results"][0]["value"] == "***"
    other = many("evaluator", "test", "rejudge/cost@latest", "--sample", "--connection", "night")
    assert (other.code, "takes no connection" in other.err) == (2, True)


def test_trying_on_a_trace_file_imports_nothing(refund: Program, tmp_path: Path) -> None:
    refunding = Node(id="a" * 16, index=0, node_type="tool_call", tool_name="refund_payment", trace_id="b" * 32)
    view = SessionView(Session(external_id="b" * 32, outputs="Done."), [refunding])
    (tmp_path / "trace.json").write_text(json.dumps(traces_of(view)))
    [item] = refund("evaluator", "test", "refund.py", "--trace", "trace.json", "--json").document["items"]
    assert (item["status"], item["results"][0]["score"], item["session"]) == ("scored", True, "b" * 32)
    assert not (tmp_path / ".rejudge").exists()
    away = refund("evaluator", "test", "refund.py", "--trace", "away.json")
    assert (away.code, "no such file" in away.err) == (2, True)


PROBLEMS: dict[str, tuple[str, str]] = {
    "no Python": ("def evaluate(session:", "bad.py:1"),
    "no function": ("X = 3", "bad.py holds no function"),
    "raises on import": (
        "import json\nraise RuntimeError('away')",
        "bad.py:2: importing it raises RuntimeError: away",
    ),
    "takes no session": ("def evaluate(): return 1", "does not take a session"),
    "a parameter JSON cannot hold": (
        "import io\ndef evaluate(session, *, file: io.StringIO): ...",
        "JSON cannot hold",
    ),
    "ends its process": ("import os\nos._exit(3)", "ended its process"),
}


@pytest.mark.parametrize(("source", "said"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_code_that_is_no_evaluator_is_refused_with_its_place(
    program: Program, tmp_path: Path, source: str, said: str
) -> None:
    (tmp_path / "bad.py").write_text(source)
    ended = program("evaluator", "register", "bad", "--script", "bad.py")
    assert (ended.code, said in ended.err) == (2, True), ended.err
    assert registered(program) == []


NAMES = ["rejudge/mine", "a/b/c", "a b", "-a", "a.", "", "a@1"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_none_are_refused(refund: Program, name: str) -> None:
    assert refund("evaluator", "register", name, "--script", "refund.py").code == 2


def test_params_are_checked_before_anything_runs(refund: Program) -> None:
    refused = refund("evaluator", "test", "refund.py", "--sample", "--params", '{"minimun": 2}')
    assert refused.err.splitlines() == [
        "error: refund has no parameter 'minimun'; did you mean 'minimum'?",
        "  it takes minimum (integer) = 1",
    ]
    typed = refund("evaluator", "test", "refund.py", "--sample", "--params", '{"minimum": "two"}', "--json")
    assert json.loads(typed.err)["error"] == "refund: parameter minimum: 'two' is not of type 'integer'"
    policy = refund(
        "evaluator", "test", "rejudge/tool-policy@latest", "--sample", "--params", '{"forbiden_tools": []}'
    )
    assert "did you mean 'forbidden_tools'?" in policy.err and "required_tools (array) = null" in policy.err


def test_what_installed_packages_offer_is_listed_without_importing_it(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    offer(folder, {"acme/polite": "acme_polite:evaluate", "no good": "acme_polite:evaluate", "acme/away": "gone:it"})
    (folder / "acme_polite.py").write_text("def evaluate(session, *, word: str = 'please'):\n    return word\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(folder)
    listed = program("evaluator", "list", "--available", "--json").document["items"]
    assert [(one["name"], one["distribution"], one["version"]) for one in listed] == [
        ("acme/away", "acme-judges", "1.2.0"),
        ("acme/polite", "acme-judges", "1.2.0"),
        ("no good", "acme-judges", "1.2.0"),
    ]
    shown = program("evaluator", "list", "--available").out
    assert "rejudge evaluator register acme/polite --package acme_polite:evaluate" in shown
    assert "rejudge evaluator register NAME --package acme_polite:evaluate" in shown
    assert program("evaluator", "register", "acme/away", "--package", "gone:it").code == 2
    assert program("evaluator", "register", "acme/polite", "--package", "acme_polite:evaluate").code == 0
    assert program("evaluator", "test", "acme/polite@1", "--sample").code == 0
    (folder / "acme_polite.py").write_text("def evaluate(session, *, word: str = 'please'):\n    return word * 2\n")
    changed = program("evaluator", "test", "acme/polite@1", "--sample")
    assert (changed.code, "is not what was registered: code: acme_polite changed" in changed.err) == (2, True)


def offer(folder: Path, points: dict[str, str]) -> None:
    """A distribution with entry points, as an installer leaves it behind."""
    info = folder / "acme_judges-1.2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-judges\nVersion: 1.2.0\n")
    lines = [f"{name} = {target}" for name, target in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[rejudge.evaluators]", *lines, ""]))
