"""The page on the Python API, typed in as it stands, by somebody with a folder of traces."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.flows.commands import ROOT, Commands

PAGE = ROOT / "docs" / "python.md"
TRACES = ("pydantic-ai.pb", "strands.pb", "vercel-ai-sdk.json")


def test_its_blocks_run_one_after_the_other(commands: Commands) -> None:
    (commands.folder / "traces").mkdir()
    for name in TRACES:
        shutil.copy(ROOT / "examples" / "traces" / name, commands.folder / "traces")
    ended = typed_in(PAGE, commands)
    said = ended.stdout.splitlines()
    assert ended.returncode == 0, ended.stderr
    assert said[0] == "3 new, 0 unchanged, 0 refused"
    assert "1 True ()" in said
    assert "6 scorings of 3 sessions: 6 scored" in said
    assert any("has a label 'human_quality' already" in line for line in said)
    assert any("did you mean 'most'?" in line for line in said)
    assert (commands.folder / "results.csv").read_text().count("few-calls") == 3


def typed_in(page: Path, commands: Commands) -> subprocess.CompletedProcess[str]:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", "\n".join(blocks)],
        cwd=commands.folder,
        env=dict(commands.environment),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
