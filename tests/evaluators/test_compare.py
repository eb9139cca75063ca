"""`compare` along all its paths, with providers of one's own and the default one."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from rejudge.errors import EvaluationError, MissingInput, NotSupported, UsageError
from rejudge.evaluators.providers import Case, CaseResult, resolve_provider
from rejudge.evaluators.providers.with_rapidfuzz import normalised
from rejudge.models import Session, SessionView
from rejudge.testing import ComparisonFailed, compare
from tests.evaluators.build import run, session
from tests.evaluators.own_providers import Scripted
from tests.model_server import ModelServer, says, says_json, status

OWN = "tests.evaluators.own_providers"

# actual, expected, mode → who decided (mode, alternative), whether it passed, and the calls made before.
PATHS: dict[str, tuple[str, list[str], str, tuple[str, int], bool, list[tuple[str, int]]]] = {
    "score, the first passes": ("a", ["a", "b"], "score", ("score", 0), True, []),
    "score, the second passes": ("b", ["a", "b"], "score", ("score", 1), True, [("score", 0)]),
    "score, none passes": ("c", ["a", "b"], "score", ("score", 1), False, [("score", 0)]),
    "llm, the second passes": ("x", ["a", "~b", "~c"], "llm", ("llm", 1), True, [("llm", 0)]),
    "llm, equal text is nothing to it": ("a", ["a"], "llm", ("llm", 0), False, []),
    "fallback, the score passes": ("a", ["a"], "fallback", ("score", 0), True, []),
    "fallback, the judge passes": ("x", ["~a"], "fallback", ("llm", 0), True, [("score", 0)]),
    "fallback, the second by judge": (
        "x",
        ["a", "~b"],
        "fallback",
        ("llm", 1),
        True,
        [("score", 0), ("llm", 0), ("score", 1)],
    ),
    "fallback, none": (
        "x",
        ["a", "b"],
        "fallback",
        ("llm", 1),
        False,
        [("score", 0), ("llm", 0), ("score", 1)],
    ),
    "an empty answer costs no judge": ("  ", ["~a", "~b"], "llm", ("llm", 1), False, [("llm", 0)]),
    "an empty answer in fallback": ("", ["~a", "~b"], "fallback", ("score", 1), False, [("score", 0)]),
    "empty where empty was expected": ("", [""], "score", ("score", 0), True, []),
}


@pytest.mark.parametrize(
    ("actual", "expected", "mode", "decided", "passed", "before"), PATHS.values(), ids=PATHS.keys()
)
def test_compare_takes_the_first_pass_and_keeps_every_call(
    actual: str,
    expected: list[str],
    mode: Any,
    decided: tuple[str, int],
    passed: bool,
    before: list[tuple[str, int]],
) -> None:
    result = compare(actual, expected, mode=mode, provider=f"{OWN}:Scripted", threshold=0.7, return_result=True)

    def stamp(call: CaseResult) -> tuple[str, int]:
        return call.mode, call.metadata["alternative"]

    assert (stamp(result), result.passed) == (decided, passed)
    assert [stamp(call) for call in result.attempts] == before
    assert all(call.threshold == 0.7 for call in (*result.attempts, result))
    assert all(call.expected == expected[call.metadata["alternative"]] for call in (*result.attempts, result))


def test_an_empty_answer_is_a_scored_zero_without_a_call() -> None:
    provider = resolve_provider(f"{OWN}:Scripted", {"tag": "empty"})
    assert isinstance(provider, Scripted)

    result = compare("", ["~a"], mode="llm", provider=f"{OWN}:Scripted", options={"tag": "empty"}, return_result=True)

    assert (result.score, result.passed, result.reason) == (0.0, False, "the answer is empty")
    assert provider.calls == []


def test_fallback_goes_straight_to_the_judge_where_there_is_no_score() -> None:
    result = compare("x", ["no", "yes"], mode="fallback", provider=f"{OWN}:JudgeOnly", return_result=True)

    assert (result.passed, result.mode, [call.mode for call in result.attempts]) == (True, "llm", ["llm"])


def test_what_a_provider_raises_passes_through() -> None:
    with pytest.raises(NotSupported, match="judge-only has no score"):
        compare("x", ["yes"], provider=f"{OWN}:JudgeOnly")
    with pytest.raises(NotSupported, match="ScoreOnly has no judge"):
        compare("x", ["yes"], mode="fallback", provider=f"{OWN}:ScoreOnly")
    with pytest.raises(EvaluationError, match="the judge is away") as raised:
        compare("x", ["!"], mode="llm", provider=f"{OWN}:Scripted")
    with pytest.raises(EvaluationError, match="returned a str, no CaseResult"):
        compare("x", ["y"], provider=f"{OWN}:Wrong")

    assert raised.value.retry_after == 3


def test_compare_raises_an_assertion_that_says_all() -> None:
    with pytest.raises(AssertionError) as raised:
        compare("x", ["a", "b"], mode="fallback", provider=f"{OWN}:Scripted")

    assert isinstance(raised.value, ComparisonFailed)
    assert str(raised.value).splitlines() == [
        "the answer matches none of the expected ones",
        "  actual:   'x'",
        "  expected: 'a'",
        "  expected: 'b'",
        "  scripted equal (score, expected answer 1) 0.000, needs 0.5",
        "  scripted judged (llm, expected answer 1) 0.100, needs 0.5: 'so'",
        "  scripted equal (score, expected answer 2) 0.000, needs 0.5",
        "  scripted judged (llm, expected answer 2) 0.100, needs 0.5: 'so'",
    ]
    assert raised.value.result.passed is False


def test_compare_says_nothing_where_it_passes() -> None:
    assert compare({"answer": "Paris"}, "paris") is None  # type: ignore[func-returns-value]
    with pytest.raises(AssertionError, match="not scored"):
        compare("x", ["x"], provider=f"{OWN}:Unscored")


@pytest.mark.parametrize("mode", ["both", ""])
def test_an_unknown_mode_is_a_value_error(mode: Any) -> None:
    with pytest.raises(ValueError, match="unknown"):
        compare("a", ["a"], mode=mode)


def test_no_expected_answer_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="expected is empty"):
        compare("a", [])


def test_compare_works_inside_a_running_loop() -> None:
    async def test() -> CaseResult:
        return compare("x", ["~a"], mode="llm", provider=f"{OWN}:Scripted", return_result=True)

    assert asyncio.run(test()).passed


BAD = {
    "no such name": ("deepval", "no provider 'deepval'"),
    "no such module": ("no_such_module_here:Provider", "cannot be imported"),
    "no such attribute": (f"{OWN}:Missing", "is not there"),
    "no class": (f"{OWN}.NOT_A_PROVIDER", "no subclass"),
    "another class": ("decimal:Decimal", "no subclass"),
    "an object": (f"{OWN}:Scripted.name", "no subclass"),
}


@pytest.mark.parametrize(("name", "words"), BAD.values(), ids=BAD.keys())
def test_a_provider_that_is_none_is_a_configuration_error_that_lists_the_names(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as raised:
        resolve_provider(name)

    assert raised.value.mend and "rejudge, deepeval, opik, jev" in raised.value.mend


def test_options_a_provider_does_not_take_are_refused() -> None:
    with pytest.raises(UsageError, match="does not take these options"):
        resolve_provider("rejudge", {"colour": "red"})


@pytest.mark.parametrize("extra", ["deepeval", "opik", "jev"])
def test_a_missing_extra_is_named_with_what_to_install(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for module in ("deepeval", "deepeval.scorer", "opik", "opik.evaluation.metrics", "typesafe_sdk"):
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(UsageError, match=f"provider '{extra}' needs the optional extra '{extra}'") as raised:
        resolve_provider(extra, {"timeout": 1.5})

    assert raised.value.mend == f'pip install "rejudge[{extra}]"'


def test_a_provider_is_made_once_for_each_configuration() -> None:
    before, ready = Scripted.made, threading.Barrier(8)
    found: list[object] = []

    def resolve() -> None:
        ready.wait()
        found.append(resolve_provider(f"{OWN}:Scripted", {"tag": "once"}))

    threads = [threading.Thread(target=resolve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    other = resolve_provider(f"{OWN}:Scripted", {"tag": "twice"})

    assert len(set(map(id, found))) == 1 and other is not found[0]
    assert Scripted.made == before + 2


SIMILAR = {
    "the same": ("Paris", "Paris", 1.0, "exact match"),
    "case, spaces, punctuation": ("  PARIS. ", "paris", 1.0, "but for case"),
    "width": ("\N{FULLWIDTH LATIN CAPITAL LETTER P}aris", "paris", 1.0, "but for case"),
    "a sign says something": ("-5", "5", 2 / 3, "similarity"),
    "one letter of seven": ("kitten", "sitten", 1 - 2 / 12, "similarity"),
    "nothing alike": ("abc", "xyz", 0.0, "similarity"),
}


@pytest.mark.parametrize(("actual", "expected", "score", "reason"), SIMILAR.values(), ids=SIMILAR.keys())
def test_the_default_provider_scores_offline(actual: str, expected: str, score: float, reason: str) -> None:
    result = compare(actual, [expected], return_result=True)

    assert result.score == pytest.approx(score)
    assert (result.metric, result.provider, result.threshold) == ("similarity", "rejudge", 0.8)
    assert reason in (result.reason or "")
    assert result.passed == (score >= 0.8)


def test_normalising_leaves_something_of_punctuation_alone() -> None:
    assert normalised("...") == "..."


def judged(server: ModelServer, monkeypatch: pytest.MonkeyPatch, actual: str, **options: Any) -> CaseResult:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    return compare(actual, ["It was refunded."], mode="llm", return_result=True, **options)


def test_the_default_judge_rates_by_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([says('Sure.\n```json\n{"reason": "same fact", "score": 0.95}\n```')]) as server:
        result = judged(server, monkeypatch, "We sent the money back.", user_input="Where is it?")

    assert (result.score, result.passed, result.reason, result.mode) == (0.95, True, "same fact", "llm")
    assert result.metadata["model"] == "gpt-4o-mini" and result.metadata["input_tokens"] == 100
    assert result.cost is not None and result.cost > 0
    assert len(server.requests) == 1
    assert "We sent the money back." in server.requests[0].text and "Where is it?" in server.requests[0].text


def test_the_default_judge_sees_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "sk-" + "abcdef0123456789" * 2
    with ModelServer([says_json({"reason": "no", "score": 0})]) as server:
        judged(server, monkeypatch, f"The key is {secret}")

    assert secret not in server.requests[0].text
    assert "[redacted model_api_key]" in server.requests[0].text


UNREADABLE = {
    "no JSON": (says("I think it is fine"), "no JSON object"),
    "two that differ": (says('{"score": 1} or {"score": 0}'), "2 JSON objects in it that differ"),
    "a score beyond": (says_json({"reason": "x", "score": 7}), "the judge's score is 7"),
    "a score in words": (says_json({"reason": "x", "score": "high"}), 'score is "high"'),
    "a bool": (says_json({"reason": "x", "score": True}), "score is true"),
    "an error": (status(503), "answers 503"),
}


@pytest.mark.parametrize(("reply", "words"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_judgement_that_cannot_be_read_is_an_error_and_no_score(
    reply: Any, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer([reply]) as server, pytest.raises(EvaluationError, match=words) as raised:
        judged(server, monkeypatch, "x")

    assert raised.value.retryable


def test_without_a_connection_the_judge_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REJUDGE_JUDGE_BASE_URL", raising=False)

    with pytest.raises(EvaluationError, match="REJUDGE_JUDGE_BASE_URL") as raised:
        compare("x", ["y"], mode="llm")

    assert not raised.value.retryable


MATCHES: dict[str, tuple[SessionView, dict[str, Any], float, bool]] = {
    "an expected answer": (session(outputs="Paris!"), {"expected": ["London", "paris"]}, 1.0, True),
    "none of them": (session(outputs="Rome"), {"expected": ["London", "Paris"]}, pytest.approx(0.0, abs=0.4), False),
    "out of the metadata": (
        session(outputs="Paris", metadata={"want": ["x", "Paris"]}),
        {"reference": "/want"},
        1.0,
        True,
    ),
    "a lower threshold": (
        session(outputs="kitten"),
        {"expected": ["sitting"], "threshold": 0.6},
        pytest.approx(8 / 13),
        True,
    ),
    "the last message": (
        session(outputs={"messages": [{"role": "assistant", "parts": [{"type": "text", "content": "Paris"}]}]}),
        {"expected": ["Paris"]},
        1.0,
        True,
    ),
    "an empty answer": (session(outputs=""), {"expected": ["Paris"]}, 0.0, False),
}


@pytest.mark.parametrize(("view", "params", "score", "passed"), MATCHES.values(), ids=MATCHES.keys())
def test_answer_match(view: SessionView, params: dict[str, Any], score: float, passed: bool) -> None:
    row = run("rejudge/answer-match", view, **params)["answer_match"]

    assert (row.data_type, row.score, row.passed) == ("float", score, passed)
    assert (row.min_score, row.max_score, row.direction) == (0, 1, "higher")


def test_answer_match_compares_a_replay_with_its_baseline() -> None:
    view = SessionView(Session(id="s2", outputs="Paris"), [], baseline=Session(id="s1", outputs="paris"))

    assert run("rejudge/answer-match", view, reference="baseline")["answer_match"].passed


def test_answer_match_has_the_cost_of_every_call_on_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer([says_json({"reason": "r", "score": 0.2})]) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        row = run("rejudge/answer-match", session(outputs="a"), expected=["b", "c"], mode="fallback")["answer_match"]

    # gpt-4o-mini: (100 x 0.15 + 20 x 0.6) millionths a call.
    assert (row.input_tokens, row.output_tokens, row.model) == (200, 40, "gpt-4o-mini")
    assert row.cost is not None and float(row.cost) == pytest.approx(2 * 27e-6)
    assert [attempt["mode"] for attempt in row.evidence["attempts"]] == ["score", "llm", "score", "llm"]


ABSENT: dict[str, tuple[SessionView, dict[str, Any], str]] = {
    "no output": (session(), {"expected": ["x"]}, "no output"),
    "no metadata": (session(outputs="x"), {"reference": "/want"}, "no expected answer at /want"),
    "no baseline": (session(outputs="x"), {"reference": "baseline"}, "no replay"),
}


@pytest.mark.parametrize(("view", "params", "words"), ABSENT.values(), ids=ABSENT.keys())
def test_answer_match_needs_both_answers(view: SessionView, params: dict[str, Any], words: str) -> None:
    with pytest.raises(MissingInput, match=words):
        run("rejudge/answer-match", view, **params)


def test_a_case_is_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Case(actual="x").actual = "y"  # type: ignore[misc]
