"""The plugin in a project of somebody else's, outside this repository."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from rejudge.testing_settings import testing_settings as settings_of
from tests.model_server import ModelServer, says_json

TESTS = """
import pytest
from rejudge import EvaluationResult, Node, Session, SessionView

VIEW = SessionView(
    Session(id="s1", outputs="Refunded."),
    [Node(id="n0", index=0, node_type="tool_call", tool_name="refund_payment", inputs={"order": 7}, outputs="ok")],
)

def refund_issued(session, *, minimum: int = 1):
    count = len(session.tool_calls)
    return EvaluationResult(name="refunds", score=count, passed=count >= minimum, explanation=f"{count} refund(s)")

def test_plain():
    assert True

def test_answer(rejudge):
    assert rejudge.compare("the refund was sent", ["The refund was sent."]).score == 1

def test_wrong_answer(rejudge):
    rejudge.compare("no idea", ["The refund was sent."])

def test_session(rejudge):
    policy = ("rejudge/tool-policy", {"forbidden_tools": ["rm"]})
    rows = rejudge.assert_session(VIEW, evaluators=[refund_issued, policy])
    assert rows["refund_issued:refunds"].score == 1

def test_wrong_session(rejudge):
    rejudge.assert_session(VIEW, evaluators=[(refund_issued, {"minimum": 2})])

@pytest.mark.rejudge
def test_judged(rejudge):
    rejudge.compare("We sent it back.", ["It was refunded."], mode="llm")
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "somebody"
    folder.mkdir()
    (folder / "test_agent.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--strict-markers"\n')
    return folder


def pytest_in(project: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REJUDGE_", "PYTEST_"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *arguments],
        cwd=project,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_without_the_option_marked_tests_are_skipped_and_failures_are_explained(project: Path) -> None:
    ran = pytest_in(project)

    assert "2 failed, 3 passed, 1 skipped" in ran.stdout
    assert "the answer matches none of the expected ones" in ran.stdout
    assert "refund_issued:refunds: '1 refund(s)'" in ran.stdout
    assert "rejudge scores" in ran.stdout and "6 scores, 2 failed" in ran.stdout
    assert "testing_fixture.py" not in ran.stdout  # a failure points at the test's own line
    assert not (project / ".rejudge").exists()


def test_with_the_option_a_judge_is_asked_and_every_score_is_shown(project: Path) -> None:
    with ModelServer([says_json({"reason": "the same", "score": 0.9})]) as server:
        ran = pytest_in(project, "--rejudge", "--junit-xml=out.xml", **server.environment())

    assert "2 failed, 4 passed" in ran.stdout, ran.stdout
    lines = [line.split()[:3] for line in ran.stdout.splitlines() if "test_agent.py::" in line and "  " in line]
    assert ["passed", "0.9", "rejudge.judged_match"] in lines
    assert ["passed", "1", "rejudge.similarity"] in lines
    assert ["failed", "1", "refund_issued:refunds"] in lines
    assert ["no", "verdict", "1"] in lines  # tool_name_coverage measures, and says nothing of passing
    properties = {
        each.get("name"): each.get("value") for each in ElementTree.parse(project / "out.xml").iter("property")
    }
    assert str(properties["rejudge.rejudge.judged_match"]).startswith(
        "0.9 | passed | needs 0.8, llm, 1 call, 0.000027 USD"
    )


def test_settings_come_from_the_command_line_the_environment_and_pyproject(project: Path) -> None:
    with (project / "pyproject.toml").open("a") as file:
        file.write('[tool.rejudge]\nthreshold = 0.1\nmode = "fallback"\n')

    ran = pytest_in(project, "-k", "answer", "--rejudge", "--rejudge-mode", "score", REJUDGE_THRESHOLD="0.2")

    assert "2 passed" in ran.stdout and "needs 0.2, score, 1 call" in ran.stdout


def test_settings_by_precedence(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.rejudge]\nprovider = "opik"\nmode = "llm"\nthreshold = 0.3\n')

    of_file = settings_of(tmp_path, {})
    of_environment = settings_of(tmp_path, {"REJUDGE_PROVIDER": "deepeval", "REJUDGE_THRESHOLD": "0.4"})
    given = settings_of(tmp_path, {"REJUDGE_MODE": "llm"}, provider="jev", mode="score")

    assert (of_file.provider, of_file.mode, of_file.threshold) == ("opik", "llm", 0.3)
    assert (of_environment.provider, of_environment.mode, of_environment.threshold) == ("deepeval", "llm", 0.4)
    assert (given.provider, given.mode) == ("jev", "score")


def test_a_bad_setting_is_a_usage_error(project: Path) -> None:
    ran = pytest_in(project, "-k", "test_answer", REJUDGE_MODE="both")

    assert ran.returncode != 0
    assert "mode 'both' is unknown; use score, llm, fallback" in ran.stdout + ran.stderr


def test_the_plugin_costs_a_project_without_it_nothing() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import rejudge.pytest_plugin; "
        "print(sorted(m for m in set(sys.modules) - before if m.split('.')[0] not in ('rejudge', '__future__')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"
