"""Evaluators in files and sessions in memory, for the tests of this room."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

from rejudge.models.session import Node, Session, SessionView
from rejudge.models.wire import WireSession, wire_of
from rejudge.scoring.outcome import Assignment, ScoringOutcome, SessionJob
from rejudge.scoring.pool import WorkerPool
from rejudge.scoring.register import inspect_script
from rejudge.scoring.version import EvaluatorSpec

IMPORTS = "from rejudge import EvaluationError, EvaluationResult, MissingInput, NotSupported, SessionView\n"
ENVIRONMENT = dict(os.environ)


class Bench:
    """Writes evaluators, registers them, and scores sessions with them."""

    def __init__(self, folder: Path, pool: WorkerPool) -> None:
        self.folder = folder
        self.pool = pool

    def write(self, source: str, file: str = "check.py") -> Path:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(IMPORTS + textwrap.dedent(source))
        return path

    def inspect(self, target: str | Path, **options: Any) -> EvaluatorSpec:
        environments = self.folder / "environments"
        return inspect_script(str(target), environment=ENVIRONMENT, environments=environments, **options)

    def register(self, source: str, *, name: str = "check", file: str = "check.py", **changes: Any) -> EvaluatorSpec:
        spec = self.inspect(self.write(source, file)).numbered(name, 1)
        return spec.model_copy(update=changes)

    def score(
        self, *judges: EvaluatorSpec | Assignment, inputs: Any = ("ok",), **options: Any
    ) -> dict[str, ScoringOutcome]:
        """Outcomes by ``<evaluator>:<input>``: one session for each of `inputs`."""
        assignments = [judge if isinstance(judge, Assignment) else Assignment(judge) for judge in judges]
        jobs = [
            SessionJob(
                session(given), [(f"{one.spec.name}:{given}", number) for number, one in enumerate(assignments)]
            )
            for given in inputs
        ]
        return {outcome.key: outcome for outcome in self.pool.score(assignments, jobs, **options)}

    def score_one(self, source: str, **options: Any) -> ScoringOutcome:
        """How an evaluator of this source ends on one session."""
        return self.score(self.register(source), **options)["check:ok"]


def session(given: Any) -> WireSession:
    """One session whose input is `given`, with two nodes."""
    nodes = [
        Node(id="m", index=0, node_type="llm_call", model="gpt", inputs={"messages": ["hi"]}, outputs={"n": [1]}),
        Node(id="t", index=1, node_type="tool_call", tool_name="refund", inputs={"amount": 5}),
    ]
    return wire_of(SessionView(Session(id=str(given), inputs=given, outputs="done"), nodes))
