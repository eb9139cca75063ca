"""Replays in real processes: what a function agent gets, and how its run ends."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rejudge.errors import ReplayError
from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.session import SessionView
from rejudge.replay import is_replayable, replay_session

from .build import LIVE, agent, model, session, tool, view_of, with_inputs

SHOP = """
    import rejudge
    from pathlib import Path

    @rejudge.tool
    def refund_payment(order_id: str, amount: float) -> dict:
        Path("ledger.txt").open("a").write(f"{order_id} {amount}\\n")
        return {"paid": amount}

    def run(inputs):
        paid = refund_payment(inputs["order"], inputs["amount"])
        return {"answer": f"paid {paid['paid']}"}
"""


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Any, SessionView]:
    """The shop's agent, and a session of it that really paid 20."""
    spec = agent(tmp_path, SHOP)
    baseline = session(inputs={"order": "A1", "amount": 20}, status="completed")
    paid = replay_session(baseline, spec, policies=LIVE)
    assert paid.status == "completed" and (tmp_path / "ledger.txt").read_text() == "A1 20\n"
    return spec, view_of(paid)


def test_an_unchanged_replay_equals_its_baseline_and_pays_nothing(shop: Any, tmp_path: Path) -> None:
    spec, baseline = shop
    result = replay_session(baseline, spec)
    assert (result.status, result.outputs, result.divergence) == ("completed", {"answer": "paid 20"}, None)
    assert result.fidelity.ratio == 1.0 and result.fidelity.tools_equal and result.fidelity.output_equal
    assert (tmp_path / "ledger.txt").read_text() == "A1 20\n"


def test_a_refund_with_new_arguments_does_not_run_and_the_replay_says_which_call_missed(
    shop: Any, tmp_path: Path
) -> None:
    spec, baseline = shop
    result = replay_session(with_inputs(baseline, {"order": "A1", "amount": 25}), spec)
    assert (tmp_path / "ledger.txt").read_text() == "A1 20\n"
    assert result.status == "failed" and result.reason is not None and "'refund_payment'" in result.reason
    assert result.miss is not None and result.miss.arguments == {"order_id": "A1", "amount": 25}
    assert result.miss.nearest_node_id == baseline.tool_calls[0].id
    assert [(one.path, one.recorded, one.called) for one in result.miss.differences] == [("/amount", 20, 25)]
    assert result.divergence is not None and result.divergence.kind == "arguments"
    assert view_of(result).session.status == "failed"


@pytest.mark.parametrize(
    ("policy", "amount", "ledger", "status"),
    [
        ({}, 20, "", "completed"),
        ({}, 25, "", "failed"),
        ({"kind": "history", "on_miss": "fail"}, 25, "", "failed"),
        ({"kind": "history", "on_miss": "error_result"}, 25, "", "failed"),
        ({"kind": "history", "on_miss": "passthrough"}, 25, "A1 25\n", "completed"),
        ({"kind": "history", "on_miss": "passthrough"}, 20, "", "completed"),
        ({"kind": "static", "cases": [{"result": {"paid": 1}}]}, 25, "", "completed"),
        ({"kind": "static", "cases": [], "on_miss": "error_result"}, 25, "", "failed"),
        ({"kind": "static", "cases": [], "on_miss": "passthrough"}, 25, "A1 25\n", "completed"),
        ({"kind": "passthrough"}, 20, "A1 20\n", "completed"),
        ({"kind": "llm", "model": "desk"}, 20, "", "failed"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)
def test_a_side_effect_happens_only_where_a_policy_says_so(
    shop: Any, tmp_path: Path, policy: dict[str, Any], amount: int, ledger: str, status: str
) -> None:
    spec, baseline = shop
    (tmp_path / "ledger.txt").write_text("")
    policies = PolicySet.model_validate({"tools_default": policy} if policy else {})
    result = replay_session(with_inputs(baseline, {"order": "A1", "amount": amount}), spec, policies=policies)
    assert (tmp_path / "ledger.txt").read_text() == ledger
    assert result.status == status, result.reason


def test_an_agent_that_swallows_everything_has_failed_all_the_same(shop: Any, tmp_path: Path) -> None:
    _, baseline = shop
    spec = agent(
        tmp_path,
        SHOP.replace(
            'paid = refund_payment(inputs["order"], inputs["amount"])',
            """
        while True:
            try:
                paid = refund_payment(inputs["order"], inputs["amount"])
                break
            except BaseException:
                pass
        """,
        ),
    )
    started = time.monotonic()
    result = replay_session(with_inputs(baseline, {"order": "A1", "amount": 25}), spec)
    assert result.status == "failed" and result.miss is not None
    assert (tmp_path / "ledger.txt").read_text() == "A1 20\n"
    assert time.monotonic() - started < 10


CONTEXT = """
    def run(inputs, context):
        return [context.model("desk"), context.system_prompt("kind"), context.prompt("hi"),
                context.model_params({"temperature": 0}), context.baseline_session_id, context.trial]
"""


def test_an_agent_may_ask_for_the_override_itself(tmp_path: Path) -> None:
    spec = agent(tmp_path, CONTEXT)
    changes = Override(model="new", system_prompt="brief", model_params={"top_p": 1})
    result = replay_session(session(), spec, override=changes, trial=2)
    assert result.status == "completed" and set(result.applied) == set(changes.parts)
    assert result.outputs == ["new", "brief", "hi", {"temperature": 0, "top_p": 1}, "base", 2]


@pytest.mark.parametrize(
    ("source", "outputs"),
    [
        ("async def run(inputs): return {'got': inputs}", {"got": "hello"}),
        ("def run(inputs, context=None): return context is not None", True),
        ("def run(inputs, limit=3): return limit", 3),
        ("class Agent:\n    def __call__(self, inputs): return inputs\nrun = Agent()", "hello"),
        ("import os, sys\ndef run(inputs): return [os.path.basename(os.getcwd()), __name__]", ["here", "agent"]),
        ("from helper import word\ndef run(inputs): return word", "helped"),
    ],
    ids=["async", "context", "default", "object", "place", "import"],
)
def test_a_function_agent_is_called_as_it_is_written(tmp_path: Path, source: str, outputs: Any) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "helper.py").write_text("word = 'helped'")
    result = replay_session(session(), agent(folder, source))
    assert (result.status, result.outputs) == ("completed", outputs), result.output


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def run(inputs): raise LookupError('no such order')", "LookupError: no such order"),
        ("import nowhere\ndef run(inputs): pass", "No module named 'nowhere'"),
        ("def walk(inputs): pass", "has no function 'run'; it has: walk"),
        ("def run(inputs):\n  import sys\n  sys.exit(3)", "exit code 3"),
        ("def run(inputs:", "SyntaxError"),
    ],
    ids=["raises", "import", "function", "exit", "syntax"],
)
def test_an_agent_that_fails_is_a_result_with_its_reason(tmp_path: Path, source: str, reason: str) -> None:
    result = replay_session(session(), agent(tmp_path, source))
    assert result.status == "failed" and result.reason is not None and reason in result.reason


def test_a_session_whose_inputs_are_not_known_is_not_replayable(tmp_path: Path) -> None:
    view = session(tool("look"), inputs=None)
    assert not is_replayable(view)
    with pytest.raises(ReplayError, match="not recorded"):
        replay_session(view, agent(tmp_path, "def run(inputs): pass"))


def test_inputs_are_the_first_words_of_the_user_where_the_root_has_none(tmp_path: Path) -> None:
    view = session(model("where is my order?", "there"), inputs=None)
    result = replay_session(view, agent(tmp_path, "def run(inputs): return inputs"))
    assert result.outputs == "where is my order?"


def test_threads_of_the_agent_are_answered_and_recorded(tmp_path: Path) -> None:
    spec = agent(
        tmp_path,
        """
        import rejudge
        from concurrent.futures import ThreadPoolExecutor

        @rejudge.tool
        def draw() -> int:
            raise AssertionError

        def run(inputs):
            with ThreadPoolExecutor(8) as pool:
                return sorted(future.result() for future in [pool.submit(draw) for _ in range(16)])
        """,
    )
    baseline = session(*(tool("draw", {}, number) for number in range(16)), outputs=list(range(16)))
    result = replay_session(baseline, spec)
    assert result.outputs == list(range(16)) and result.fidelity.tools_equal
    assert len(view_of(result).tool_calls) == 16


def test_spans_of_a_provider_that_the_agent_makes_itself_are_recorded(tmp_path: Path) -> None:
    spec = agent(
        tmp_path,
        """
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        def run(inputs):
            own = TracerProvider()
            trace.set_tracer_provider(own)
            with own.get_tracer("shop").start_as_current_span("mine"):
                with trace.get_tracer("shop").start_as_current_span("global"):
                    pass
        """,
    )
    names = [node.name for node in view_of(replay_session(session(), spec)).nodes]
    assert names == ["invoke_agent support", "mine", "global"]


@pytest.mark.parametrize("clues", [("timed_out", 3.0, False), ("canceled", 60.0, True)], ids=lambda clues: clues[0])
def test_what_was_recorded_survives_the_end_of_the_run(tmp_path: Path, clues: tuple[str, float, bool]) -> None:
    status, timeout, cancel = clues
    spec = agent(
        tmp_path,
        """
        import rejudge, time

        @rejudge.tool
        def look() -> int:
            return 1

        @rejudge.tool
        def wait() -> int:
            open("waiting", "w").close()
            time.sleep(600)

        def run(inputs):
            look()
            wait()
        """,
        timeout=timeout,
    )
    waiting = tmp_path / "waiting"
    result = replay_session(session(), spec, policies=LIVE, canceled=lambda: cancel and waiting.exists())
    assert result.status == status
    nodes = view_of(result).tool_calls
    assert [(node.tool_name, node.status) for node in nodes] == [("look", "completed"), ("wait", "in_progress")]
    assert view_of(result).session.status == status and not view_of(result).session.complete


def test_replays_run_side_by_side(tmp_path: Path) -> None:
    spec = agent(
        tmp_path,
        """
        import time
        from pathlib import Path

        def run(inputs):
            Path(f"here {inputs}").touch()
            while len(list(Path().glob("here *"))) < 8:  # they all wait for each other
                time.sleep(0.02)
            return inputs
        """,
        timeout=60,
    )
    results: list[Any] = [None] * 8

    def one(number: int) -> None:
        results[number] = replay_session(session(inputs=f"hello {number}"), spec).outputs

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [f"hello {number}" for number in range(8)]


def test_variables_reach_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_SECRET", "inherited")
    spec = agent(
        tmp_path,
        "import os\ndef run(inputs): return [os.environ['SHOP_' + name] for name in ('SECRET', 'MODE', 'TRIAL')]",
        environment={"SHOP_MODE": "test"},
    )
    result = replay_session(session(), spec, environment={"SHOP_TRIAL": "1"})
    assert result.outputs == ["inherited", "test", "1"]


def test_a_wider_scope_answers_what_the_baseline_does_not_have(shop: Any, tmp_path: Path) -> None:
    spec, baseline = shop
    other = session(tool("refund_payment", {"order_id": "A1", "amount": 25}, {"paid": 25}))
    policies = PolicySet(tools_default=HistoryPolicy(scope="agent"))
    asked = with_inputs(baseline, {"order": "A1", "amount": 25})
    result = replay_session(asked, spec, policies=policies, wider={"agent": [other]})
    assert (result.status, result.outputs) == ("completed", {"answer": "paid 25"})
    with pytest.raises(ReplayError, match="scope 'agent'"):
        replay_session(asked, spec, policies=policies)
