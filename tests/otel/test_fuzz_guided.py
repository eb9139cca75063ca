"""A bounded run of the coverage-guided fuzzer over the decoders; `make fuzz` runs it for longer."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.otel.traces import DATA

ROOT = Path(__file__).parents[2]
SEEDS = ["encodings/toolerr.zipkin.json", "openai_genai/tools2.traces.00.pb", "strands/toolerr.traces.jsonl"]


@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris has no wheel for this platform")
def test_a_guided_fuzzer_finds_nothing_in_a_few_seconds(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in SEEDS:
        shutil.copy(DATA / name, corpus / name.replace("/", "-"))
    command = [sys.executable, "tests/fuzz/fuzz_read.py", str(corpus), "-max_total_time=8", "-max_len=20000"]

    run = subprocess.run(
        [*command, f"-artifact_prefix={tmp_path}/"], cwd=ROOT, capture_output=True, text=True, timeout=200
    )

    assert run.returncode == 0, run.stderr[-3000:]
