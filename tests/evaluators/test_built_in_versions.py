"""Every built-in evaluator as the registry sees it, and the judge in the supervised process where it really runs."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from rejudge.errors import UsageError
from rejudge.evaluators.catalog import BUILT_IN, CATALOG
from rejudge.models.wire import wire_of
from rejudge.scoring.built_in import built_in_spec
from rejudge.scoring.outcome import Assignment, ScoringOutcome, SessionJob
from rejudge.scoring.pool import WorkerPool
from rejudge.scoring.version import EvaluatorSpec
from tests.evaluators.build import session
from tests.model_server import ModelServer, Reply, Request, dropped, malformed, says_json, status


def spec_of(name: str) -> EvaluatorSpec:
    entry = CATALOG[name]
    return built_in_spec(name, entry.entrypoint, description=entry.description, mode=entry.mode)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_evaluator_can_be_registered(name: str) -> None:
    spec = spec_of(name)

    assert spec.parameter_schema["additionalProperties"] is False
    assert spec.mode == CATALOG[name].mode
    assert (spec.provider == "judge") == (CATALOG[name].mode == "slow")


def test_the_signals_are_imported_without_anything_heavy() -> None:
    code = (
        "import sys\n"
        "from rejudge.evaluators import cost, latency, tool_call_patterns\n"
        "heavy = {'genai_prices', 'jsonschema', 'rapidfuzz', 'httpx', 'sqlalchemy', 'prefect'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


def test_params_that_cannot_work_are_refused_before_anything_runs(tmp_path: Path) -> None:
    with WorkerPool(os.environ, environments=tmp_path) as pool, pytest.raises(UsageError, match="at least one of"):
        pool.check([Assignment(spec_of("rejudge/tool-policy"), {})])


SESSIONS = 60
QUESTIONS = {"questions": {"resolved": {"type": "yes_no", "ask": "Was it met?"}}}


class Moody:
    """Fails in one of four ways for every fourth order, and answers the rest; the first when a second has asked."""

    def __init__(self) -> None:
        self.asked = itertools.count(1)
        self.second = threading.Event()
        self.together: list[bool] = []

    def __call__(self, request: Request) -> Reply:
        if next(self.asked) == 2:
            self.second.set()
        self.together.append(self.second.wait(20))
        found = re.search(r"order (\d+)", request.text)
        assert found
        order = int(found[1])
        if order % 4 == 0:
            return [status(500), dropped(), malformed(), status(401)][order // 4 % 4]
        return says_json({"resolved": {"reason": "r", "probability_yes": 0.9 if order % 2 else 0.1}})


def test_the_judge_runs_in_its_process_with_its_connection_alone(tmp_path: Path) -> None:
    jobs = [
        SessionJob(wire_of(session(inputs=f"order {n}", outputs="done")), ((str(n), 0),)) for n in range(SESSIONS)
    ]
    moody = Moody()
    with ModelServer(moody) as server, WorkerPool(os.environ, environments=tmp_path) as pool:
        assignment = Assignment(spec_of("rejudge/judge"), {"questions": QUESTIONS}, server.environment())
        ended = {int(outcome.key): outcome for outcome in pool.score([assignment], jobs)}

    assert len(ended) == SESSIONS
    for order, outcome in ended.items():
        if order % 4:
            (row,) = outcome.results
            assert (outcome.status, row["score"], row["passed"]) == ("scored", bool(order % 2), bool(order % 2))
            assert Decimal(str(row["cost"])) == Decimal("0.000027") and row["model"] == "gpt-4o-mini"
        else:
            assert outcome.status == "failed" and outcome.retryable == (order // 4 % 4 != 3)
            assert "test-key" not in str(outcome)
    assert all(moody.together)


def test_the_judge_without_a_connection_says_so(tmp_path: Path) -> None:
    job = SessionJob(wire_of(session(inputs="x", outputs="y")), (("0", 0),))
    with WorkerPool(os.environ, environments=tmp_path) as pool:
        outcomes: list[ScoringOutcome] = list(
            pool.score([Assignment(spec_of("rejudge/judge"), {"questions": QUESTIONS})], [job])
        )

    assert outcomes[0].status == "failed" and not outcomes[0].retryable
    assert "REJUDGE_JUDGE_BASE_URL" in (outcomes[0].error or "")
