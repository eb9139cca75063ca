"""DeepEval, Opik and Jev for real: their offline scores, their judges against a local model server, their silence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rejudge.errors import EvaluationError, NotSupported
from rejudge.evaluators.providers import CaseResult
from rejudge.testing import compare
from tests.model_server import ModelServer, Reply, dropped, malformed, says, says_json, status

# What the libraries themselves warn of is theirs.
pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(180)]

NEEDED = {"deepeval": "deepeval", "opik": "opik", "jev": "typesafe_sdk"}


def needs(provider: str) -> pytest.MarkDecorator:
    module = NEEDED[provider]
    return pytest.mark.skipif(find_spec(module) is None, reason=f"needs {module}")


BOTH = [pytest.param(name, marks=needs(name)) for name in ("deepeval", "opik")]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder, which is still empty afterwards."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def asked(server: ModelServer, monkeypatch: pytest.MonkeyPatch, provider: str, **options: Any) -> CaseResult:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return compare(
        "We sent it back.", ["It was refunded."], mode="llm", provider=provider, return_result=True, **options
    )


SCORES = [
    pytest.param("deepeval", "The Answer!", "answer", 1.0, marks=needs("deepeval"), id="deepeval-same"),
    pytest.param("deepeval", "another", "answer", 0.0, marks=needs("deepeval"), id="deepeval-other"),
    pytest.param("opik", "Kitten", "kitten", 1.0, marks=needs("opik"), id="opik-same"),
    pytest.param("opik", "kitten", "sitting", 8 / 13, marks=needs("opik"), id="opik-similar"),
]


@pytest.mark.parametrize(("provider", "actual", "expected", "score"), SCORES)
def test_offline_scores_are_the_librarys_own(provider: str, actual: str, expected: str, score: float) -> None:
    result = compare(actual, [expected], provider=provider, return_result=True)

    assert result.score == pytest.approx(score)
    assert result.metric == {"deepeval": "quasi_exact_match", "opik": "levenshtein_ratio"}[provider]
    assert (result.provider, result.mode, result.cost) == (provider, "score", None)


@pytest.mark.parametrize("provider", BOTH)
def test_the_librarys_judge_asks_our_endpoint(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([says_json({"score": 9, "reason": "the same fact"})]) as server:
        result = asked(server, monkeypatch, provider, user_input="Where is my money?", threshold=0.9)

    assert (result.score, result.passed, result.reason) == (0.9, True, "the same fact")
    assert (result.metric, result.metadata["model"]) == ("geval", "gpt-4o-mini")
    assert result.cost is not None and result.cost > 0
    assert result.metadata["input_tokens"] == 100 * len(server.requests)
    assert "We sent it back." in server.requests[-1].text and "Where is my money?" in server.requests[-1].text
    assert len(server.requests) <= (1 if provider == "deepeval" else 2)


@pytest.mark.parametrize("provider", BOTH)
@pytest.mark.parametrize(
    ("reply", "retryable", "wait"),
    [
        pytest.param(status(429, retry_after=4), True, 4, id="429"),
        pytest.param(status(500), True, None, id="500"),
        pytest.param(dropped(), True, None, id="dropped"),
        pytest.param(malformed(), True, None, id="malformed"),
        pytest.param(says("I like it"), True, None, id="no-json"),
        pytest.param(says_json({"score": "high"}), True, None, id="wrong-schema"),
        pytest.param(status(401), False, None, id="401"),
    ],
)
def test_the_librarys_judge_fails_under_our_contract(
    provider: str, reply: Reply, retryable: bool, wait: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([reply]) as server, pytest.raises(EvaluationError) as raised:
        asked(server, monkeypatch, provider, criteria=f"Criteria of {reply.status} {reply.content} {reply.drop}")

    assert (raised.value.retryable, raised.value.retry_after) == (retryable, wait)


@pytest.mark.parametrize("provider", BOTH)
def test_a_library_without_any_model_says_so_and_is_not_tried_again(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REJUDGE_JUDGE_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(EvaluationError) as raised:
        compare("a", ["b"], mode="llm", provider=provider)

    assert not raised.value.retryable


@needs("jev")
def test_jev_judges_by_a_probability(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {
        "model": "jev-1",
        "answers": {"matches": {"type": "noul", "noul": 0.75}},
        "usage": {"input_tokens": 12, "output_tokens": 1},
    }
    with ModelServer([Reply(raw=json.dumps(body).encode())]) as server:
        monkeypatch.setenv("TYPESAFE_API_KEY", "ts-test")
        monkeypatch.setenv("TYPESAFE_BASE_URL", server.base_url)
        result = compare("a", ["b"], mode="fallback", provider="jev", return_result=True)

    assert (result.score, result.passed, result.metric) == (0.75, True, "noul")
    assert (result.metadata["model"], result.metadata["input_tokens"]) == ("jev-1", 12)
    assert server.requests[0].body["state"] == {"actual_answer": "a", "expected_answer": "b"}


JEV_FAILURES = {
    "429": (status(429, retry_after=2), True, 2),
    "500": (status(500), True, None),
    "dropped": (dropped(), True, None),
    "wrong shape": (Reply(raw=b'{"model": "jev"}'), True, None),
    "401": (status(401), False, None),
}


@needs("jev")
@pytest.mark.parametrize(("reply", "retryable", "wait"), JEV_FAILURES.values(), ids=JEV_FAILURES.keys())
def test_jev_fails_under_our_contract(
    reply: Reply, retryable: bool, wait: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([reply]) as server:
        monkeypatch.setenv("TYPESAFE_API_KEY", "ts-test")
        monkeypatch.setenv("TYPESAFE_BASE_URL", server.base_url)
        with pytest.raises(EvaluationError) as raised:
            compare("a", ["b"], mode="llm", provider="jev")

    assert (raised.value.retryable, raised.value.retry_after) == (retryable, wait)
    assert len(server.requests) == 1


@needs("jev")
def test_jev_has_no_score_without_a_judge() -> None:
    with pytest.raises(NotSupported, match="jev has no score"):
        compare("a", ["b"], provider="jev")


@needs("jev")
def test_jev_without_a_key_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TYPESAFE_API_KEY", raising=False)

    with pytest.raises(EvaluationError, match="TYPESAFE_API_KEY") as raised:
        compare("a", ["b"], mode="llm", provider="jev")

    assert not raised.value.retryable


SILENT = """
import socket
connected = []
real = socket.socket.connect
def connect(self, address):
    connected.append(address)
    raise OSError("no network here")
socket.socket.connect = connect
socket.getaddrinfo = lambda *a, **k: connected.append(a) or (_ for _ in ()).throw(OSError("no network here"))
from rejudge.testing import compare
compare("answer", ["answer"], provider={provider!r})
import atexit, time
time.sleep(1)
atexit._run_exitfuncs()
print("connections", connected)
"""


@pytest.mark.parametrize("provider", BOTH)
def test_choosing_a_library_reports_nothing_to_anybody(provider: str, tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OPIK_", "DEEPEVAL_"))}
    ran = subprocess.run(
        [sys.executable, "-c", SILENT.format(provider=provider)],
        env={**environment, "PYTHONPATH": root, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert "connections []" in ran.stdout
    assert sorted(tmp_path.iterdir()) == []
