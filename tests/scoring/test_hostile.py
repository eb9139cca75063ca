"""Whatever an evaluator does, it ends its own scorings only."""

from __future__ import annotations

import pytest

from rejudge.scoring.outcome import Assignment, ScoringOutcome
from rejudge.scoring.version import EvaluatorSpec
from tests.scoring.bench import Bench

LIMIT = 1.5
"""Seconds that an evaluator which will not end may take."""

GOOD = """
def evaluate(session):
    return session.session.inputs
"""

BAD = """
import os, signal, sys, threading, time

def evaluate(session, *, deed: str):
    if session.session.inputs == "bad":
        space = dict(globals())
        exec("def misbehave():\\n    " + deed, space)
        space["misbehave"]()
    return True
"""

SLOW = """
import time

def evaluate(session):
    time.sleep(0.3)
    return True
"""

# What it does, how it ends, what the error says, and the seconds and MiB that it may take.
MISDEEDS: dict[str, tuple[str, str, str]] = {
    "raises": ("raise RuntimeError('broken wheel')", "failed", "broken wheel"),
    "asserts": ("assert 1 == 2", "failed", "AssertionError"),
    "sleeps": ("time.sleep(60)", "timed_out", f"its limit of {LIMIT} s"),
    "sleeps in parts, catching all": (
        "end = time.time() + 60\n    while time.time() < end:\n"
        "        try: time.sleep(0.1)\n        except BaseException: pass",
        "timed_out",
        "limit",
    ),
    "never gives the GIL back": (
        "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')",
        "timed_out",
        "limit",
    ),
    "ends the process": ("os._exit(3)", "crashed", "exit code 3"),
    "ends the process with success": ("os._exit(0)", "crashed", "exit code 0"),
    "aborts": ("os.abort()", "crashed", "SIGABRT"),
    "kills itself": ("os.kill(os.getpid(), signal.SIGKILL)", "crashed", "SIGKILL"),
    "kills its group": ("os.killpg(0, signal.SIGKILL)", "crashed", "SIGKILL"),
    "says why it ends": ("os.write(2, b'no more disk'); os._exit(1)", "crashed", "no more disk"),
    "allocates": (
        "hoard = []\n    while True: hoard.append(bytearray(b'x') * 10_000_000); time.sleep(0.001)",
        "crashed",
        "more than its limit of 300 MiB",
    ),
    "allocates in a child of its own": (
        "import subprocess\n    code = 'import time; x = bytearray(b\"x\") * 600_000_000; time.sleep(60)'\n"
        "    subprocess.run([sys.executable, '-c', code])",
        "crashed",
        "more than its limit",
    ),
    "exits": ("sys.exit('enough')", "failed", "SystemExit"),
    "is interrupted": ("raise KeyboardInterrupt", "failed", "KeyboardInterrupt"),
    "recurses": ("misbehave()", "failed", "RecursionError"),
    "reads where there is no memory": ("import ctypes; ctypes.string_at(0)", "crashed", "SIGSEGV"),
    "raises what cannot be shown": (
        "E = type('E', (Exception,), {'__str__': lambda self: 1 / 0}); raise E",
        "failed",
        "E",
    ),
    "raises a group": ("raise ExceptionGroup('many', [ValueError('one of them')])", "failed", "one of them"),
    "closes every descriptor": ("os.closerange(0, 1000)", "crashed", "its process ended"),
}

# What leaves the process unharmed, whatever it looks like: all score.
MISCHIEF = {
    "forks": "os.fork()",
    "forks and stays": "pid = os.fork()\n    if not pid: time.sleep(20)",
    "prints much": "print('x' * 20_000_000)",
    "writes half a surrogate": "print(repr('\\ud800'))",
    "leaves the folder": "os.chdir('/')",
    "empties the path of imports": "sys.path.clear()",
    "takes signals": "signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_DFL)",
    "lowers the recursion limit": "sys.setrecursionlimit(60)",
    "interrupts the process": "os.kill(os.getpid(), signal.SIGINT)",
    "leaves a thread": "threading.Thread(target=time.sleep, args=(30,)).start()",
    "closes what it may print to": "sys.stdout.close(); sys.stderr.close(); os.close(1); os.close(2)",
    "reads the keyboard": "assert sys.stdin.read() == ''",
}


@pytest.fixture(scope="module")
def good(shared_bench: Bench) -> EvaluatorSpec:
    """One that scores everything."""
    return shared_bench.register(GOOD, name="good", file="good.py")


@pytest.fixture(scope="module")
def bad(shared_bench: Bench) -> EvaluatorSpec:
    """One that does on bad sessions what its parameter says."""
    return shared_bench.register(BAD, memory_limit=300 * 1024 * 1024)


@pytest.fixture(scope="module")
def slow(shared_bench: Bench) -> EvaluatorSpec:
    """One that takes a while and would be in flight when another's bomb goes off."""
    return shared_bench.register(SLOW, name="slow", file="slow.py", memory_limit=300 * 1024 * 1024)


def _doing(bad: EvaluatorSpec, deed: str) -> Assignment:
    return Assignment(bad, {"deed": deed})


def _statuses(outcomes: dict[str, ScoringOutcome]) -> dict[str, str]:
    return {key: outcome.status for key, outcome in outcomes.items()}


@pytest.mark.parametrize("misdeed", MISDEEDS)
def test_a_misdeed_ends_its_own_scoring_only(
    bench: Bench, good: EvaluatorSpec, bad: EvaluatorSpec, misdeed: str
) -> None:
    deed, status, words = MISDEEDS[misdeed]
    if status == "timed_out":
        bad = bad.model_copy(update={"time_limit": LIMIT})
    outcomes = bench.score(good, _doing(bad, deed), good.numbered("last", 1), inputs=["a", "bad", "b", "c"])
    expected = {f"{name}:{given}": "scored" for name in ("good", "check", "last") for given in ("a", "bad", "b", "c")}
    assert _statuses(outcomes) == {**expected, "check:bad": status}
    error = outcomes["check:bad"].error
    assert error is not None
    assert words in error
    assert len(error) < 9000


@pytest.mark.parametrize("mischief", MISCHIEF)
def test_mischief_is_put_right_for_the_next(
    bench: Bench, good: EvaluatorSpec, bad: EvaluatorSpec, mischief: str
) -> None:
    outcomes = bench.score(_doing(bad, MISCHIEF[mischief]), good, inputs=["a", "bad", "b", "bad ", "c"])
    assert set(_statuses(outcomes).values()) == {"scored"}
    assert len(outcomes) == 10


def test_an_alarm_that_is_set_does_not_go_off_in_the_next(
    bench: Bench, bad: EvaluatorSpec, slow: EvaluatorSpec
) -> None:
    alarm = "signal.signal(signal.SIGALRM, lambda *_: os._exit(9)); signal.setitimer(0, 0.5)"
    outcomes = bench.score(_doing(bad, alarm), slow, inputs=["bad", "a", "b"])
    assert set(_statuses(outcomes).values()) == {"scored"}


def test_a_thread_left_behind_that_ends_the_process_blames_no_one_else(
    bench: Bench, bad: EvaluatorSpec, slow: EvaluatorSpec
) -> None:
    bomb = "threading.Timer(0.5, os._exit, [1]).start()"
    outcomes = bench.score(_doing(bad, bomb), slow, inputs=["bad", "a", "b"])
    assert set(_statuses(outcomes).values()) == {"scored"}


def test_memory_that_another_evaluator_keeps_is_not_blamed_on_the_next(
    bench: Bench, bad: EvaluatorSpec, slow: EvaluatorSpec
) -> None:
    hoard = "sys.modules['hoard'] = bytearray(b'x') * 280_000_000"
    outcomes = bench.score(_doing(bad, hoard), slow, inputs=["bad", "a"])
    assert set(_statuses(outcomes).values()) == {"scored"}


def test_what_one_evaluator_does_to_its_view_is_invisible_to_the_next(bench: Bench) -> None:
    spoil = """
    def evaluate(session):
        session.nodes[0].inputs["messages"].clear()
        session.nodes[0].outputs.clear()
        return True
    """
    look = """
    def evaluate(session):
        return f"{session.nodes[0].inputs} {session.nodes[0].outputs}"
    """
    outcomes = bench.score(bench.register(spoil), bench.register(look, name="look", file="look.py"))
    assert outcomes["look:ok"].results[0]["value"] == "{'messages': ['hi']} {'n': [1]}"


def test_a_view_cannot_be_written_to(bench: Bench) -> None:
    outcome = bench.score_one("def evaluate(session):\n    session.session.status = 'failed'\n    return 1\n")
    assert outcome.status == "failed"
    assert "frozen" in (outcome.error or "").lower()


def test_an_evaluator_that_crashes_while_it_is_loaded_ends_its_own_scorings(
    bench: Bench, good: EvaluatorSpec
) -> None:
    # It registers well, and crashes where its file is imported a second time.
    flag = bench.folder / "loaded"
    source = f"""
    import os, pathlib
    flag = pathlib.Path({str(flag)!r})
    if flag.exists(): os._exit(5)
    flag.touch()
    def evaluate(session): return True
    """
    outcomes = bench.score(good, bench.register(source), good.numbered("last", 1), inputs=["a", "b"])
    assert {key: status for key, status in _statuses(outcomes).items() if status != "scored"} == {
        "check:a": "crashed",
        "check:b": "crashed",
    }
    assert "exit code 5" in (outcomes["check:a"].error or "")
