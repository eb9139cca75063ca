"""The pages on evaluators, providers and the judge against the evaluators, providers and the judge."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from rejudge.evaluators.catalog import BUILT_IN
from rejudge.evaluators.judge.questions import parse_questions
from rejudge.evaluators.providers import SHORT_NAMES
from tests.evaluators.build import load, run
from tests.evaluators.test_any_session import PARAMS, long_session

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluators.md").read_text("utf-8")


def section(name: str) -> str:
    found = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^#|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/evaluators.md has no section {name}"
    return found[1]


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_evaluator_is_described_with_its_parameters(name: str) -> None:
    _, evaluate = load(name)
    parameters = list(inspect.signature(evaluate).parameters)[1:]

    assert [each for each in parameters if f"`{each}`" not in section(name)] == []


@pytest.mark.parametrize("name", PARAMS)
def test_every_row_is_described(name: str) -> None:
    rows = [row for params in PARAMS[name] for row in run(f"rejudge/{name}", long_session(3), **params)]

    assert [row for row in rows if f"`{row}`" not in section(f"rejudge/{name}")] == []


def test_no_other_evaluator_is_described() -> None:
    assert re.findall(r"^## (.*)$", PAGE, re.MULTILINE) == list(BUILT_IN)


def test_every_provider_is_described() -> None:
    page = (ROOT / "docs" / "providers.md").read_text("utf-8")

    assert [name for name in SHORT_NAMES if f"| `{name}`" not in page] == []


QUESTION_FILES = {
    "docs/judge.md": re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "judge.md").read_text("utf-8"), re.DOTALL),
    "examples/judge/quality.toml": [(ROOT / "examples" / "judge" / "quality.toml").read_text("utf-8")],
}


@pytest.mark.parametrize("texts", QUESTION_FILES.values(), ids=QUESTION_FILES.keys())
def test_question_files_shown_can_be_asked(texts: list[str]) -> None:
    assert texts
    for text in texts:
        assert len(parse_questions(tomllib.loads(text)).questions) == 3


def test_python_shown_for_providers_runs() -> None:
    page = (ROOT / "docs" / "providers.md").read_text("utf-8")
    blocks = [block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "def test_" not in block]

    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/providers.md", "exec"), {"__name__": "shown"})


def test_the_worked_providers_run_where_a_reader_runs_them(tmp_path: Path) -> None:
    folder = tmp_path / "providers"
    shutil.copytree(ROOT / "examples" / "providers", folder)

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rejudge"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout
    assert "3 passed" in ran.stdout and "word-coverage.word_coverage" in ran.stdout


def blocks_of(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / page).read_text("utf-8"), re.DOTALL)


def test_the_evaluator_that_is_written_step_by_step_can_be_registered(tmp_path: Path) -> None:
    from rejudge.models.session import SessionView
    from rejudge.scoring.sample import sample_session
    from rejudge.testing import SessionFailed, assert_session

    script = tmp_path / "refund_once.py"
    script.write_text(blocks_of("how-to/write-an-evaluator.md")[0])
    once = sample_session()
    refund = once.tool_calls[-1]
    twice = SessionView(once.session, [*once.nodes, refund.model_copy(update={"id": "again", "index": 6})])

    assert assert_session(once, evaluators=[script])["refund_once:refunded_once"].score == 0
    with pytest.raises(SessionFailed, match="refunded more than 1 times: 1042"):
        assert_session(twice, evaluators=[script])


def test_constants_named_for_an_evaluator_are_read() -> None:
    page = (ROOT / "docs" / "how-to" / "write-an-evaluator.md").read_text("utf-8")
    cells = re.findall(r"^\| (`[A-Z][^|]*)\|", page, re.MULTILINE)
    named = set(re.findall(r"`([A-Z_]+)(?: = [^`]*)?`", " ".join(cells)))
    source = (ROOT / "rejudge" / "scoring" / "inspection.py").read_text("utf-8")

    assert named == set(re.findall(r'_constant\(module, file, "([A-Z_]+)"', source))


def test_python_shown_for_labels_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rejudge
    from tests.flows.stored import store_with_sessions

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REJUDGE_DATABASE_URL", raising=False)
    store_with_sessions(tmp_path / ".rejudge" / "rejudge.db", 2).close()
    with rejudge.open() as store:
        store.labels.add(1, name="human_quality", passed=True)
    [block] = blocks_of("how-to/label-sessions.md")

    exec(compile(block, "docs/how-to/label-sessions.md", "exec"), {"__name__": "shown"})
