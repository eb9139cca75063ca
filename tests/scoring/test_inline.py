"""Scripts with inline dependencies (PEP 723)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rejudge
from rejudge.errors import UsageError
from rejudge.scoring.inline import WORKER_NEEDS, Declared, declared_in, resolve
from rejudge.scoring.pool import WorkerPool
from rejudge.scoring.register import changes_between
from tests.scoring.bench import ENVIRONMENT, Bench

BLOCK = """# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "rejudge",
#   "humanize<4.10",
# ]
# ///
"""

SCRIPT = (
    BLOCK
    + """
import sys

import humanize
from rejudge import EvaluationResult, SessionView


def evaluate(session: SessionView, *, number: int = 1234567) -> EvaluationResult:
    try:
        import prefect
    except ImportError:
        own = "alone"
    else:
        own = "with ours"
    return EvaluationResult(name="said", value=f"{humanize.intcomma(number)} {own} {sys.prefix != sys.base_prefix}")
"""
)


def test_the_block_is_read_as_the_standard_says() -> None:
    assert declared_in("print(1)", "x.py") is None
    assert declared_in("# /// pyproject\n# a = 1\n# ///\n", "x.py") is None
    assert declared_in(BLOCK, "x.py") == Declared(("rejudge", "humanize<4.10"), ">=3.11")
    assert declared_in("# /// script\n# dependencies = []\n# ///\n", "x.py") == Declared((), None)
    assert declared_in("# /// script\n#\n# ///\n", "x.py") == Declared((), None)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ("# /// script\n# dependencies = [\n# ///\n", "x.py:1: the '# /// script' block is no TOML"),
        ("\n\n# /// script\n# dependencies = ['no such !! name']\n# ///\n", "x.py:3: the '# /// script' block"),
        ("# /// script\n# requires-python = 'soon'\n# ///\n", "x.py:1: the '# /// script' block"),
        ("# /// script\n# requires-python = '<3.11'\n# ///\n", "evaluators run on 3.11 or newer"),
        ("# /// script\n# a = 1\n# ///\n\n# /// script\n# b = 1\n# ///\n", "x.py:1: there are several"),
    ],
    ids=["toml", "requirement", "python", "old python", "two"],
)
def test_a_block_that_cannot_be_read_is_refused_by_line(block: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        declared_in(block, "x.py")
    assert message in refused.value.message


def test_without_uv_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UsageError, match="needs uv, which is not on PATH") as refused:
        resolve(Declared(("humanize",), None), environment={"PATH": str(tmp_path)})
    assert "pip install uv" in (refused.value.mend or "")


def test_what_the_worker_needs_is_no_newer_than_what_rejudge_itself_needs() -> None:
    project = (Path(rejudge.__file__).parent.parent / "pyproject.toml").read_text()
    for need in WORKER_NEEDS:
        name, _, lowest = need.partition(">=")
        own = project.split(f'"{name}>=', 1)[1].split('"', 1)[0]
        assert [int(part) for part in lowest.split(".")] <= [int(part) for part in own.split(".")]


@pytest.fixture(scope="module")
def index() -> None:
    """A package index that uv can reach: what pip is configured for is not enough."""
    uv = pytest.importorskip("uv").find_uv_bin()
    command = [uv, "pip", "compile", "-", "--quiet", "--no-header"]
    environment = {"UV_SYSTEM_CERTS": "1", **ENVIRONMENT}
    asked = subprocess.run(command, input="humanize<4.10", env=environment, capture_output=True, text=True)
    if asked.returncode != 0:
        pytest.skip(f"uv reaches no package index: {asked.stderr.strip()[:200]}")


@pytest.mark.slow
@pytest.mark.usefixtures("index")
def test_a_script_runs_in_an_environment_of_its_own(bench: Bench) -> None:
    path = bench.folder / "check.py"
    path.write_text(SCRIPT)
    spec = bench.inspect(path).numbered("said", 1)
    assert spec.dependencies is not None
    versions = dict(one.split("==") for one in spec.dependencies)
    assert versions["humanize"].startswith("4.9")
    assert spec.parts.dependencies == versions
    assert spec.declared_dependencies == ("rejudge", "humanize<4.10")

    path.unlink()
    with WorkerPool(ENVIRONMENT, environments=bench.folder / "environments") as pool:
        outcome = Bench(bench.folder, pool).score(spec)["said:ok"]
    assert outcome.results[0]["value"] == "1,234,567 alone True"

    path.write_text(SCRIPT.replace("# ///\n\n", "# ///\n# a comment\n"))
    again = bench.inspect(path, previous=spec)
    assert again.fingerprint == spec.fingerprint
    path.write_text(SCRIPT.replace("<4.10", "<4.9"))
    older = bench.inspect(path, previous=spec)
    assert [line.split(" ")[1] for line in changes_between(spec, older)] == ["humanize"]


@pytest.mark.slow
def test_dependencies_that_do_not_go_together_are_refused(bench: Bench) -> None:
    path = bench.folder / "check.py"
    path.write_text(SCRIPT.replace('"humanize<4.10"', '"pydantic<2"'))
    with pytest.raises(UsageError, match="resolving the script's dependencies failed"):
        bench.inspect(path)
    assert os.listdir(bench.folder) == ["check.py"]
