"""Replays in real processes: what a function agent gets, and how its run ends."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from rejudge.errors import NotFound, ReplayError, UsageError
from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PassthroughPolicy, PolicySet, UntilDivergencePolicy
from rejudge.models.replay import ReplayResult
from rejudge.models.session import SessionView
from rejudge.replay import is_replayable, replay_session

from .build import agent, model, session, tool

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

LIVE = PolicySet(tools_default=PassthroughPolicy())


def view_of(result: ReplayResult) -> SessionView:
    assert result.recording is not None, result.reason
    return result.recording.view


def with_inputs(view: SessionView, inputs: Any) -> SessionView:
    return SessionView(view.session.model_copy(update={"inputs": inputs}), view.nodes)


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


CHAT = """
    from rejudge.replay import ModelRequest, ModelResponse, call_model
    import rejudge

    def text(role, content):
        return {"role": role, "parts": [{"type": "text", "content": content}]}

    def send(request):
        with open("sent.txt", "a") as sent:
            sent.write(f"{request.model} {request.system_text} {request.messages[-1]['parts'][0]['content']} "
                       f"{dict(request.parameters)}\\n")
        return ModelResponse(messages=(text("assistant", f"live {len(request.messages)}"),), model=request.model)

    @rejudge.tool
    def look(step: int) -> str:
        return f"looked {step}"

    def run(inputs):
        messages = [text("user", inputs)]
        for step in range(4):
            request = ModelRequest("desk", tuple(messages), ({"type": "text", "content": "Be kind."},),
                                   parameters={"temperature": 0, "top_p": 1})
            answer = call_model(request, send)
            messages += [dict(answer.messages[0]), text("user", look(step))]
        return answer.text
"""


@pytest.fixture
def chat(tmp_path: Path) -> tuple[Any, SessionView]:
    """An agent of four model calls and four tool calls, and a live run of it."""
    spec = agent(tmp_path, CHAT)
    baseline = view_of(replay_session(session(inputs="hi"), spec, policies=LIVE))
    assert len(baseline.llm_calls) == 4 and len(baseline.tool_calls) == 4
    (tmp_path / "sent.txt").unlink()
    return spec, baseline


def sent(folder: Path) -> list[str]:
    path = folder / "sent.txt"
    return path.read_text().splitlines() if path.exists() else []


TAPED = PolicySet(models_default=HistoryPolicy())


def test_models_from_the_tape_reproduce_the_run_without_a_call(chat: Any, tmp_path: Path) -> None:
    spec, baseline = chat
    result = replay_session(baseline, spec, policies=TAPED)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0)
    assert result.fidelity.requests_equal and not sent(tmp_path)


@pytest.mark.parametrize(
    ("override", "first"),
    [
        (Override(model="new"), "new Be kind. hi {'temperature': 0, 'top_p': 1}"),
        (Override(model={"desk": "new"}), "new Be kind. hi {'temperature': 0, 'top_p': 1}"),
        (Override(system_prompt="Be brief."), "desk Be brief. hi {'temperature': 0, 'top_p': 1}"),
        (Override(prompt="bye"), "desk Be kind. bye {'temperature': 0, 'top_p': 1}"),
        (
            Override(model_params={"temperature": 1, "top_p": None, "seed": 7}),
            "desk Be kind. hi {'temperature': 1, 'seed': 7}",
        ),
    ],
    ids=["model", "by-model", "system-prompt", "prompt", "params"],
)
def test_an_override_changes_that_one_thing(chat: Any, tmp_path: Path, override: Override, first: str) -> None:
    spec, baseline = chat
    result = replay_session(baseline, spec, override=override)
    assert result.status == "completed" and result.applied == override.parts
    assert len(sent(tmp_path)) == 4 and sent(tmp_path)[0] == first
    assert result.divergence is not None and (result.divergence.kind, result.divergence.step) == ("arguments", 0)


@pytest.mark.parametrize("override", [Override(model={"desk": "new", "other": "x"}), Override(model={"other": "x"})])
def test_an_override_that_matched_no_call_is_an_error(chat: Any, override: Override) -> None:
    spec, baseline = chat
    result = replay_session(baseline, spec, override=override)
    assert result.status == "failed" and result.reason is not None
    assert "model:other matched no call" in result.reason


def test_until_divergence_is_free_up_to_there_and_live_from_there(chat: Any, tmp_path: Path) -> None:
    spec, baseline = chat
    changed = agent(tmp_path, CHAT.replace('f"looked {step}"', '"found it" if step == 1 else f"looked {step}"'))
    assert changed.source_digest != spec.source_digest
    policies = PolicySet(tools_default=PassthroughPolicy(), models_default=UntilDivergencePolicy())
    result = replay_session(baseline, changed, policies=policies)
    assert (result.fidelity.model_history, result.fidelity.model_live) == (2, 2)
    assert len(sent(tmp_path)) == 2
    assert result.divergence is not None and result.divergence.kind == "result"


@pytest.mark.parametrize("step", range(8))
def test_a_fork_is_free_before_its_node_and_live_from_it(chat: Any, tmp_path: Path, step: int) -> None:
    spec, baseline = chat
    calls = [node for node in baseline.nodes if node.node_type in ("llm_call", "tool_call")]
    result = replay_session(baseline, spec, fork=calls[step].id, policies=LIVE, override=Override(model="new"))
    models_before = sum(node.node_type == "llm_call" for node in calls[:step])
    if step == 7:  # nothing but a tool call is left: no model call could take the override
        assert result.status == "failed" and "matched no call" in str(result.reason)
        return
    assert result.status == "completed", result.reason
    assert [line.split()[0] for line in sent(tmp_path)] == ["new"] * (4 - models_before)
    assert result.fidelity.history + result.fidelity.model_history == step
    assert result.divergence is not None and result.divergence.step >= step


@pytest.mark.parametrize(("written", "index"), [("tool:look#2", 3), ("model:desk#3", 4), ("tool:look", 1)], ids=str)
def test_a_fork_point_can_be_named_by_its_call(chat: Any, tmp_path: Path, written: str, index: int) -> None:
    spec, baseline = chat
    result = replay_session(baseline, spec, fork=written, policies=LIVE)
    assert result.status == "completed" and result.fidelity.history + result.fidelity.model_history == index


def test_a_fork_that_diverges_before_its_point_is_refused(chat: Any, tmp_path: Path) -> None:
    _, baseline = chat
    changed = agent(tmp_path, CHAT.replace("look(step)", "look(step + 10 * (step == 1))"))
    result = replay_session(baseline, changed, fork="tool:look#4", policies=LIVE)
    assert result.status == "failed" and "diverged before the fork point" in str(result.reason)
    assert result.divergence is not None and (result.divergence.kind, result.divergence.step) == ("arguments", 3)
    assert not sent(tmp_path)


def test_a_fork_point_that_is_never_reached_is_refused(chat: Any, tmp_path: Path) -> None:
    _, baseline = chat
    shorter = agent(tmp_path, CHAT.replace("range(4)", "range(2)"))
    result = replay_session(baseline, shorter, fork="tool:look#4", policies=LIVE)
    assert result.status == "failed" and "ended before the fork point" in str(result.reason)


@pytest.mark.parametrize("written", ["nowhere", "tool:look#9", "99", "tool:sell"])
def test_a_fork_point_that_is_not_there_is_said_before_anything_runs(chat: Any, written: str) -> None:
    spec, baseline = chat
    with pytest.raises(NotFound, match="no node"):
        replay_session(baseline, spec, fork=written)


def test_a_span_is_no_fork_point(chat: Any) -> None:
    spec, baseline = chat
    with pytest.raises(UsageError, match="nothing that can be forked from"):
        replay_session(baseline, spec, fork="0")


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


@pytest.mark.parametrize("clues", [("timed_out", 1.0, False), ("canceled", 30.0, True)], ids=lambda clues: clues[0])
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


HOSTILE = {
    "hangs": ("import time\ndef run(inputs): time.sleep(600)", "timed_out"),
    "spins": ("def run(inputs):\n  while True: pass", "timed_out"),
    "ignores-sigterm": (
        "import signal, time\ndef run(inputs):\n  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n  time.sleep(600)",
        "timed_out",
    ),
    "exits": ("import os\ndef run(inputs): os._exit(0)", "crashed"),
    "kills-itself": ("import os, signal\ndef run(inputs): os.kill(os.getpid(), signal.SIGKILL)", "crashed"),
    "segfaults": ("import ctypes\ndef run(inputs): ctypes.string_at(0)", "crashed"),
    "forks-children": (
        "import subprocess, sys, time\ndef run(inputs):\n"
        "  [subprocess.Popen(['sleep', '614']) for _ in range(5)]\n  return 'done'",
        "completed",
    ),
    "leaves-a-daemon": (
        "import os, time\ndef run(inputs):\n"
        "  if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n      os.execvp('sleep', ['sleep', '615'])\n"
        "    os._exit(0)\n  time.sleep(0.3)\n  return 'done'",
        "completed",
    ),
    "hangs-with-a-daemon": (
        "import os, signal, time\ndef run(inputs):\n"
        "  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "  if os.fork() == 0:\n    os.setsid()\n    os.execvp('sleep', ['sleep', '616'])\n"
        "  time.sleep(600)",
        "timed_out",
    ),
    "keeps-forking": (
        "import os, time\ndef run(inputs):\n"
        "  if os.fork() == 0:\n    os.setsid()\n    while True:\n      time.sleep(0.002)\n"
        "      if os.fork() > 0: os._exit(0)\n  return 'done'",
        "completed",
    ),
    "hangs-at-exit": (
        "import atexit, time\natexit.register(time.sleep, 600)\ndef run(inputs): return 'done'",
        "completed",
    ),
    "leaves-a-thread": (
        "import threading, time\ndef run(inputs):\n  threading.Thread(target=time.sleep, args=(600,)).start()\n"
        "  return 'done'",
        "completed",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_agent_that_misbehaves_ends_in_time_with_the_right_status_and_leaves_nothing(
    tmp_path: Path, kind: str
) -> None:
    source, status = HOSTILE[kind]
    before = {process.pid for process in psutil.process_iter()}
    started = time.monotonic()
    result = replay_session(session(), agent(tmp_path, source, timeout=1))
    assert time.monotonic() - started < 1 + 5
    assert result.status == status, (result.reason, result.output)
    assert not left_of(tmp_path, before)
    again = replay_session(session(), agent(tmp_path, "def run(inputs): return 'fine'"))
    assert (again.status, again.outputs) == ("completed", "fine")


def left_of(folder: Path, before: set[int]) -> list[psutil.Process]:
    """New processes that run in the agent's folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if (
                process.pid not in before
                and process.cwd() == str(folder)
                and process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_hundred_megabytes_of_output_are_counted_and_cut(tmp_path: Path) -> None:
    spec = agent(
        tmp_path,
        """
        import sys
        def run(inputs):
            print("first")
            for _ in range(100): sys.stdout.write("x" * 1_000_000)
            sys.stderr.write("\\nlast\\n")
            sys.stdout.flush()
            print("very last")
            return "done"
        """,
    )
    result = replay_session(session(), spec)
    assert result.status == "completed" and result.output_bytes > 100_000_000
    assert len(result.output) < 150_000 and result.output.startswith("first") and "very last" in result.output
    assert "bytes left out" in result.output


def test_an_agent_over_its_memory_limit_fails_alone(tmp_path: Path) -> None:
    spec = agent(tmp_path, "def run(inputs): return len(bytearray(4 << 30))")
    spec = spec.model_copy(update={"limits": spec.limits.model_copy(update={"memory_bytes": 1 << 30})})
    result = replay_session(session(), spec)
    assert result.status == "failed" and "MemoryError" in str(result.reason)


def test_replays_run_side_by_side(tmp_path: Path) -> None:
    spec = agent(tmp_path, "import time\ndef run(inputs):\n  time.sleep(0.5)\n  return inputs")
    results: list[Any] = [None] * 8

    def one(number: int) -> None:
        results[number] = replay_session(session(inputs=f"hello {number}"), spec).outputs

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [f"hello {number}" for number in range(8)]
    assert time.monotonic() - started < 3


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
