"""Evaluators of a user's own in batches: their versions, their params, their credentials, by the real command."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.flows.commands import Commands, evaluators

REFUND = """
from rejudge import EvaluationResult, SessionView

def evaluate(session: SessionView, *, minimum: int = 1) -> EvaluationResult:
    refunds = [n for n in session.nodes if n.node_type == "tool_call" and n.tool_name == "lookup_1"]
    return EvaluationResult(name="refund_issued", score=len(refunds) >= minimum, passed=len(refunds) >= minimum,
                            explanation=f"{len(refunds)} refund call(s)")
"""

TONE = """
import os
from rejudge import EvaluationError, EvaluationResult

PROVIDER = "tone"
CONNECTION_SCHEMA = {
    "type": "object",
    "properties": {"api_key": {"type": "string"}, "region": {"type": "string"}},
    "required": ["api_key"],
}

def key():
    return os.environ["REJUDGE_TONE_API_KEY"]

def measures(session):
    return EvaluationResult(name="length", score=len(key()), explanation=os.environ.get("REJUDGE_TONE_REGION"))

def tells(session):
    print("the key is", key())
    return EvaluationResult(name="tells", value=key(), explanation=key(), evidence={"key": key()}, model=key())

def raises(session):
    raise RuntimeError("the key is " + key())

def is_refused(session):
    raise EvaluationError("401 for " + key(), retryable=False)
"""

NOSY = """
import os
def nosy(session):
    return ",".join(name for name in os.environ if name.startswith(("REJUDGE_TONE", "REJUDGE_CONN", "PREFECT")))
"""

IN_ENVIRONMENT = "sk-tone-from-environment-77"
IN_A_BLOCK = "sk-tone-from-a-block-4711"


def test_an_evaluator_from_its_first_version_to_its_deletion(twelve: Commands) -> None:
    script = twelve.folder / "refund.py"
    script.write_text(REFUND)
    assert twelve("evaluator", "register", "refund", "--script", "refund.py").out == "registered refund@1\n"
    first = twelve("session", "evaluate", "1", "2", *evaluators("refund@latest"), "--json")
    assert (first.code, first.document["evaluators"], first.document["scored"]) == (0, ["refund@1"], 2)

    script.write_text(REFUND.replace(">= minimum", "> minimum"))
    assert "code: the script changed" in twelve("evaluator", "register", "refund", "--script", "refund.py").out
    script.unlink()
    both = twelve("session", "evaluate", "1", "2", "3", *evaluators("refund@latest", "refund@1"), "--json")
    assert (both.document["evaluators"], both.document["scored"], both.document["reused"]) == (
        ["refund@2", "refund@1"],
        4,
        2,
    )

    assert twelve("evaluator", "delete", "refund").code == 0
    assert twelve("session", "evaluate", "4", *evaluators("refund@1")).code == 4
    rows = twelve("evaluation", "list", "--json").document["items"]
    versions = {(row["evaluator"], row["evaluator_version"]): row["fingerprint"] for row in rows}
    assert set(versions) == {("refund", 1), ("refund", 2)} and len(set(versions.values())) == 2
    assert [row["score"] for row in rows if row["evaluator_version"] == 1] == [True] * 3
    assert [row["score"] for row in rows if row["evaluator_version"] == 2] == [False] * 3


def test_one_version_runs_with_several_params_and_each_is_told_apart(twelve: Commands) -> None:
    (twelve.folder / "refund.py").write_text(REFUND)
    twelve("evaluator", "register", "refund", "--script", "refund.py")
    params = ("--params", 'refund@1={"minimum": 1}', "--params", 'refund@1={"minimum": 5}')
    ended = twelve("session", "evaluate", "1", "2", *evaluators("refund@1"), *params, "--json")
    assert (ended.code, ended.document["scored"]) == (0, 4)
    assert {one["params"]["minimum"]: one["mean"] for one in ended.document["metrics"]} == {1: 1.0, 5: 0.0}
    shown = twelve("session", "evaluate", "1", "2", *evaluators("refund@1"), *params).out
    assert 'refund@1 {"minimum":1}' in shown and 'refund@1 {"minimum":5}' in shown
    again = twelve(
        "session", "evaluate", "1", *evaluators("refund@1"), "--params", 'refund@1={"minimum": 1}', "--json"
    )
    assert again.document["reused"] == 1
    # A default that is spelled out is the same scoring.
    assert twelve("session", "evaluate", "1", *evaluators("refund@1"), "--json").document["reused"] == 1


HALF = """
from rejudge import EvaluationResult

def evaluate(session):
    odd = session.session.outputs["text"].startswith("Order 1 ")
    return EvaluationResult(name="half", score=1.0) if odd else EvaluationResult(name="half", unscored="even")
"""


def test_rows_without_a_score_stand_apart_in_the_table(twelve: Commands) -> None:
    (twelve.folder / "half.py").write_text(HALF)
    twelve("evaluator", "register", "half", "--script", "half.py")
    shown = twelve("session", "evaluate", "1", "2", "3", *evaluators("half@1")).out.splitlines()
    assert [line.split()[1:5] for line in shown[1:3]] == [["half", "1", "1", "1"], ["half,", "unscored", "2", "-"]]


def test_what_cannot_be_scored_is_told_again_by_a_rerun(twelve: Commands) -> None:
    (twelve.folder / "needs.py").write_text(
        "from rejudge import MissingInput\n"
        "def evaluate(session):\n"
        "    if session.session.number == 2:\n        raise MissingInput('no')\n    return 1\n"
    )
    twelve("evaluator", "register", "needs", "--script", "needs.py")
    first = twelve("session", "evaluate", "1", "2", *evaluators("needs@1"), "--json")
    again = twelve("session", "evaluate", "1", "2", *evaluators("needs@1"), "--json")
    assert (first.code, again.code) == (8, 8)
    assert (again.document["reused"], again.document["stood_unscored"], again.document["not_scored"]) == (2, 1, 1)


@pytest.fixture
def tone(twelve: Commands, served: Commands) -> Commands:
    (twelve.folder / "tone.py").write_text(TONE)
    (twelve.folder / "nosy.py").write_text(NOSY)
    with twelve.store as store:
        for name in ("measures", "tells", "raises", "is_refused"):
            store.evaluators.register(name.replace("_", "-"), script=f"{twelve.folder}/tone.py:{name}")
        store.evaluators.register("nosy", script=f"{twelve.folder}/nosy.py:nosy")
    api_url = served("up", "--json").document["api_url"]
    value = json.dumps({"api_key": IN_A_BLOCK, "region": "north"})
    keep = f"from prefect.blocks.system import Secret\nSecret(value={value!r}).save('team-account', overwrite=True)"
    subprocess.run(
        [sys.executable, "-c", keep], env={**twelve.environment, "PREFECT_API_URL": api_url}, check=True, timeout=100
    )
    return twelve


def test_credentials_reach_their_evaluator_and_nothing_else(tone: Commands, home: Path) -> None:
    names = ("measures@1", "tells@1", "raises@1", "is-refused@1")
    missing = tone("session", "evaluate", "1", *evaluators(*names))
    assert (missing.code, "REJUDGE_TONE_API_KEY is not set" in missing.err) == (2, True)
    unknown = tone("session", "evaluate", "1", *evaluators("measures@1"), "--connection", "measures@1=nowhere")
    assert (unknown.code, "there is no connection 'nowhere'" in unknown.err) == (2, True)
    assert tone("scoring", "list", "--json").document["count"] == 0

    holding = Commands(tone.folder, {**tone.environment, "REJUDGE_CONNECTION_NIGHT_API_KEY": IN_ENVIRONMENT})
    chosen = [word for name in names for word in ("--connection", f"{name}=night")]
    ended = holding("session", "evaluate", "1", *evaluators(*names, "nosy@1"), *chosen, "--json")
    assert ended.document["statuses"] == {"scored": 3, "failed": 2}
    blocked = [word for name in names for word in ("--connection", f"{name}=team-account")]
    other = tone("session", "evaluate", "2", *evaluators(*names, "nosy@1"), *blocked, "--json")
    assert other.document["statuses"] == {"scored": 3, "failed": 2}

    rows = tone("evaluation", "list", "--json").document["items"]
    assert [row["score"] for row in rows if row["name"] == "length"] == [len(IN_ENVIRONMENT), len(IN_A_BLOCK)]
    assert [row["explanation"] for row in rows if row["name"] == "length"] == [None, "north"]
    assert {(row["value"], row["explanation"], row["model"]) for row in rows if row["name"] == "tells"} == {
        ("***", "***", "***")
    }
    assert {row["value"] for row in rows if row["name"] == "nosy"} == {""}
    errors = {
        row["error"].splitlines()[-1]
        for row in tone("scoring", "list", "--status", "failed", "--json").document["items"]
    }
    assert errors == {"RuntimeError: the key is ***", "401 for ***"}
    assert_nowhere(tone.folder, home, said=ended.out + ended.err + other.out + other.err)
    assert_not_at_prefect(ended.document["url"], other.document["url"])


def assert_nowhere(*folders: Path, said: str) -> None:
    """Not in our database, not in Prefect's (where the block is encrypted), not in a log."""
    for secret in (IN_ENVIRONMENT, IN_A_BLOCK):
        assert secret not in said
        files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        assert [path for path in files if secret.encode() in path.read_bytes()] == []


def assert_not_at_prefect(*urls: str) -> None:
    """Not in what Prefect's server says of the runs: their parameters, logs and artifacts."""
    for url in urls:
        base, _, run = url.partition("/runs/flow-run/")
        by_run = {"flow_run_id": {"any_": [run]}}
        said = [
            ask(f"{base}/api/flow_runs/{run}"),
            ask(f"{base}/api/logs/filter", {"logs": by_run, "limit": 200}),
            ask(f"{base}/api/artifacts/filter", {"artifacts": by_run}),
        ]
        assert "measures" in said[0] and "evaluation-results" in said[2]
        assert [text for text in said if IN_ENVIRONMENT in text or IN_A_BLOCK in text] == []


def ask(url: str, body: object = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, {"Content-Type": "application/json"})) as answer:
        return str(answer.read().decode())
