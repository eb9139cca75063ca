"""`assert_session` on sessions in memory, in trace files and in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rejudge.errors import MissingInput, NotFound, UsageError
from rejudge.models import EvaluationResult, SessionView
from rejudge.testing import SessionFailed, assert_session
from tests.evaluators.build import llm, session, tool

VIEW = session(llm(cost="0.1"), tool("refund", inputs={"order": 7}, cost="0"), outputs="Refunded.")
TRACES = Path(__file__).parents[2] / "examples" / "traces"

SCRIPT = """
from rejudge import EvaluationResult

def evaluate(session, *, word: str = "refunded"):
    found = word in str(session.session.outputs).lower()
    return EvaluationResult(name="says", score=found, passed=found)
"""


async def slow_check(view: SessionView) -> bool:
    return bool(view.tool_calls)


def needs_metadata(view: SessionView) -> EvaluationResult:
    raise MissingInput("no expected answer")


def test_rows_come_by_evaluator_and_row(tmp_path: Path) -> None:
    script = tmp_path / "wording.py"
    script.write_text(SCRIPT)

    rows = assert_session(VIEW, evaluators=["rejudge/cost", slow_check, script])

    assert {key: row.score for key, row in rows.items()} == {
        "rejudge/cost:cost": 0.1,
        "slow_check:slow_check": True,
        "wording:says": True,
    }


def test_a_script_is_read_as_it_would_be_registered(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("WORDS = ['refunded']\n")
    (tmp_path / "wording.py").write_text(
        "from words import WORDS\n\n"
        "def polite(session):\n    return WORDS[0] in str(session.session.outputs).lower()\n"
    )

    rows = assert_session(VIEW, evaluators=[f"{tmp_path}/wording.py:polite"])

    assert rows["polite:polite"].score is True


def test_a_registered_evaluator_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rejudge

    (tmp_path / "wording.py").write_text(SCRIPT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REJUDGE_DATABASE_URL", raising=False)
    with rejudge.open() as store:
        store.evaluators.register("acme/says", script="wording.py")

    rows = assert_session(VIEW, evaluators=["acme/says"])
    assert rows["acme/says:says"].score is True
    with pytest.raises(SessionFailed):
        assert_session(VIEW, evaluators=[("acme/says@1", {"word": "done"})])
    with pytest.raises(NotFound, match="no evaluator 'acme/say'"):
        assert_session(VIEW, evaluators=["acme/say@2"])


def test_a_row_that_does_not_pass_fails_the_test_with_its_explanation() -> None:
    policy: Any = ("rejudge/tool-policy", {"forbidden_tools": ["refund"], "required_tools": ["x"]})

    with pytest.raises(SessionFailed) as raised:
        assert_session(VIEW, evaluators=["rejudge/latency", policy])

    assert isinstance(raised.value, AssertionError)
    assert "2 of 4 rows do not pass" in str(raised.value)
    assert "rejudge/tool-policy:forbidden_tools: '1 of 1 forbidden tool called: refund x1'" in str(raised.value)
    assert raised.value.rows["rejudge/latency:latency_seconds"].data_type == "unscored"


def test_a_verdict_held_back_fails_where_it_was_to_be_decided() -> None:
    still = session(tool("a"), status="in_progress")
    policy: Any = [("rejudge/model-policy", {"allowed_models": ["m"]})]

    assert assert_session(still, evaluators=policy)
    with pytest.raises(SessionFailed):
        assert_session(still, evaluators=policy, decided=True)


REFUSED: dict[str, tuple[Any, type[Exception], str]] = {
    "no such built-in": ("rejudge/costs", NotFound, "no built-in evaluator"),
    "no such script": ("checks/none.py", NotFound, "cannot be read"),
    "an unknown parameter": (("rejudge/cost", {"limit": 1}), UsageError, "limit"),
    "params that cannot work": (("rejudge/tool-policy", {}), UsageError, "at least one of required_tools"),
    "missing input": (needs_metadata, MissingInput, "no expected answer"),
}


@pytest.mark.parametrize(("evaluator", "error", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_judged_passes_through(evaluator: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        assert_session(VIEW, evaluators=[evaluator])


def test_two_evaluators_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two evaluators give 'rejudge/cost:cost'"):
        assert_session(VIEW, evaluators=["rejudge/cost", "rejudge/cost@latest"])


def test_a_trace_file_that_is_not_there_is_said() -> None:
    with pytest.raises(NotFound, match="no trace file"):
        assert_session("traces/none.jsonl", evaluators=["rejudge/cost"])


def test_a_trace_file_is_read_as_it_is() -> None:
    rows = assert_session(TRACES / "pydantic-ai.pb", evaluators=["rejudge/session-diagnostics"], decided=False)

    assert rows["rejudge/session-diagnostics:terminality"].score == 1


def test_a_trace_file_that_holds_nothing_to_judge_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("{}\n")

    with pytest.raises(UsageError):
        assert_session(str(empty), evaluators=["rejudge/cost"])


def test_a_stored_session_is_judged_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import rejudge

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("REJUDGE_DATABASE_URL", raising=False)
    with rejudge.open() as store:
        store.sessions.import_(TRACES / "pydantic-ai.pb", agent="support")

    rows = assert_session(1, evaluators=["rejudge/tool-health"])

    assert rows["rejudge/tool-health:failed_calls"].data_type == "float"
