"""The program inside the test's process: quick, with its exit code and what it printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from rejudge.cli import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Program:
    """Runs commands against the store that the environment names."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Ended:
        """Run one command."""
        self.capture.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        captured = self.capture.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Ended(code, captured.out, captured.err)
