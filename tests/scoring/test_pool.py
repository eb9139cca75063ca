"""Processes of evaluators: shared and kept, several calls at once, what they may see, and how they end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from rejudge.errors import RejudgeError
from rejudge.scoring.environment import child_environment, secrets_in
from rejudge.scoring.outcome import Assignment, SessionJob
from rejudge.scoring.pool import WorkerPool
from rejudge.scoring.supervisor import Worker
from tests.scoring.bench import ENVIRONMENT, Bench, session

WAITS = """
import asyncio, os, time
MODE = "slow"

async def evaluate(session, *, seconds: float = 0.05):
    if session.session.inputs == "hangs":
        await asyncio.sleep(60)
    if session.session.inputs == "blocks":
        time.sleep(60)
    if session.session.inputs == "dies":
        os._exit(7)
    if session.session.inputs == "raises":
        raise EvaluationError("503", retry_after=2)
    if session.session.inputs == "exits":
        raise SystemExit
    if session.session.inputs == "stubborn":
        while True:
            try: await asyncio.sleep(60)
            except asyncio.CancelledError: pass
    await asyncio.sleep(seconds)
    return True
"""
SLEEPS = WAITS.replace("async def", "def").replace("await asyncio.sleep", "time.sleep")


@pytest.fixture(params=["async", "sync"])
def waiting(request: pytest.FixtureRequest, bench: Bench) -> Callable[..., Any]:
    """Registers an evaluator that waits, as a coroutine or in a thread."""
    source = WAITS if request.param == "async" else SLEEPS
    return lambda **changes: bench.register(source, **changes)


MEETS = """
import asyncio, threading, time
MODE = "slow"
PATIENCE = time.monotonic() + 30
lock = threading.Lock()
now = most = 0

async def evaluate(session):
    global now, most
    with lock:
        now += 1
        most = max(most, now)
    while most < 8 and time.monotonic() < PATIENCE:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.01)
    with lock:
        now -= 1
    return most
"""


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_several_sessions_are_in_flight_at_once(bench: Bench, kind: str) -> None:
    source = MEETS
    if kind == "sync":
        source = MEETS.replace("async def", "def").replace("await asyncio.sleep", "time.sleep")
    outcomes = bench.score(bench.register(source), inputs=range(16))  # it declares itself slow
    assert [outcome.results[0]["score"] for outcome in outcomes.values()] == [8] * 16


def test_each_ends_its_own_scoring_among_many_in_flight(bench: Bench, waiting: Callable[..., Any]) -> None:
    spec = waiting(time_limit=2.0)
    inputs = ["hangs", "a", "raises", "b", "exits", "dies", "c", "d"]
    outcomes = bench.score(spec, inputs=inputs, concurrency=4)
    statuses = {key.partition(":")[2]: outcome.status for key, outcome in outcomes.items()}
    failed = {"raises": "failed", "exits": "failed", "hangs": "timed_out", "dies": "crashed"}
    assert statuses == {**dict.fromkeys("abcd", "scored"), **failed}
    assert (outcomes["check:raises"].retryable, outcomes["check:raises"].retry_after) == (True, 2.0)
    assert outcomes["check:hangs"].error == "it took longer than its limit of 2 s"


@pytest.mark.parametrize("given", ["blocks", "stubborn"])
def test_a_loop_that_is_blocked_blames_the_one_that_blocks_it(bench: Bench, given: str) -> None:
    spec = bench.register(WAITS, time_limit=1.5)
    outcomes = bench.score(spec, inputs=["a", given, "b"], concurrency=3)
    assert {key: outcome.status for key, outcome in outcomes.items()} == {
        "check:a": "scored",
        f"check:{given}": "timed_out",
        "check:b": "scored",
    }


def test_what_others_in_flight_have_cost_is_not_lost_to_one_that_hangs(bench: Bench) -> None:
    calls = bench.folder / "calls"
    source = SLEEPS.replace(
        "    time.sleep(seconds)", f"    open({str(calls)!r}, 'a').write('x')\n    time.sleep(seconds)"
    )
    spec = bench.register(source, time_limit=1.5)
    slow = [Assignment(spec, {"seconds": 0.7})]
    jobs = [SessionJob(session(given), [(given, 0)]) for given in ("hangs", "a", "b")]

    def later() -> Iterator[SessionJob]:
        yield jobs[0]
        time.sleep(1.0)  # in flight when the first is overdue
        yield from jobs[1:]

    outcomes = {one.key: one.status for one in bench.pool.score(slow, later(), concurrency=3)}
    assert outcomes == {"hangs": "timed_out", "a": "scored", "b": "scored"}
    assert calls.read_text() == "xx"


def test_what_comes_late_is_not_taken_for_another_scorings_result(bench: Bench) -> None:
    source = """
    import time
    MODE = "slow"
    def evaluate(session):
        time.sleep(session.session.inputs)
        return session.session.inputs
    """
    spec = bench.register(source, time_limit=2.0)

    def later() -> Iterator[SessionJob]:
        yield SessionJob(session(3.5), [("overdue", 0)])
        time.sleep(1.5)
        yield SessionJob(session(1.0), [("in flight then", 0)])

    first = {one.key: one.status for one in bench.pool.score([Assignment(spec)], later())}
    second = bench.score(spec, inputs=[1.2])  # the first one's result would come in the middle of it
    assert first == {"overdue": "timed_out", "in flight then": "scored"}
    assert second["check:1.2"].results[0]["score"] == 1.2


def test_async_evaluators_share_one_loop(bench: Bench) -> None:
    source = """
    import asyncio
    loops = set()
    async def evaluate(session):
        loops.add(id(asyncio.get_running_loop()))
        return len(loops)
    """
    outcomes = bench.score(bench.register(source), inputs=range(5))
    assert {outcome.results[0]["score"] for outcome in outcomes.values()} == {1}


def test_async_evaluators_in_turn_end_their_own_scorings(bench: Bench) -> None:
    spec = bench.register(WAITS, time_limit=1.5)
    inputs = ["a", "hangs", "exits", "blocks", "b"]
    statuses = [outcome.status for outcome in bench.score(spec, inputs=inputs, concurrency=1).values()]
    assert sorted(statuses) == ["failed", "scored", "scored", "timed_out", "timed_out"]


def test_results_come_as_they_are_made(bench: Bench) -> None:
    # Each scoring waits until the result before it has arrived.
    source = f"""
    import time
    from pathlib import Path
    folder = Path({str(bench.folder)!r})
    def evaluate(session):
        before = folder / f"arrived-{{session.session.inputs - 1}}"
        while not before.exists():
            time.sleep(0.01)
        return True
    """
    spec = bench.register(source, time_limit=20)
    (bench.folder / "arrived--1").touch()
    jobs = [SessionJob(session(number), [(str(number), 0)]) for number in range(5)]
    statuses = []
    for outcome in bench.pool.score([Assignment(spec)], jobs):
        statuses.append(outcome.status)
        (bench.folder / f"arrived-{outcome.key}").touch()
    assert statuses == ["scored"] * 5


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_session_that_may_not_begin_yet_keeps_nobody_waiting(bench: Bench, concurrency: int) -> None:
    spec = bench.register("def evaluate(session): return 1.0")
    jobs = [SessionJob(session(number), [(str(number), 0)]) for number in range(5)]
    begun: list[str] = []
    ended: list[str] = []

    def may_begin() -> bool:
        """One at a time, each once the one before has come out."""
        if len(ended) < len(begun):
            return False
        begun.append("")
        return True

    for outcome in bench.pool.score([Assignment(spec)], jobs, concurrency=concurrency, may_begin=may_begin):
        ended.append(outcome.status)
    assert ended == ["scored"] * 5 and len(begun) == 5


def test_stopping_leaves_the_rest_alone(bench: Bench) -> None:
    spec = bench.register("import time\ndef evaluate(session):\n    time.sleep(0.05); return True\n")
    taken: list[int] = []
    seen: list[str] = []

    def jobs() -> Iterator[SessionJob]:
        for number in range(500):
            taken.append(number)
            yield SessionJob(session(number), [(str(number), 0)])

    for outcome in bench.pool.score([Assignment(spec)], jobs(), stop=lambda: len(seen) >= 3):
        seen.append(outcome.status)
    assert len(seen) == len(taken) < 20
    assert set(seen) <= {"scored", "not_run"}


def test_a_caller_that_stops_listening_leaves_a_pool_that_works(bench: Bench) -> None:
    spec = bench.register("import time\ndef evaluate(session):\n    time.sleep(0.1); return True\n")
    jobs = [SessionJob(session(number), [(str(number), 0)]) for number in range(20)]
    scoring = bench.pool.score([Assignment(spec)], jobs)
    next(scoring)
    scoring.close()
    assert bench.score(spec)["check:ok"].status == "scored"


def test_a_caller_that_is_busy_costs_the_evaluator_no_time(bench: Bench) -> None:
    spec = bench.register(
        "import time\ndef evaluate(session):\n    time.sleep(0.1); print('x' * 200_000); return True\n",
        time_limit=1.0,
    )
    jobs = [SessionJob(session(number), [(str(number), 0)]) for number in range(3)]
    statuses = []
    for outcome in bench.pool.score([Assignment(spec)], jobs):
        statuses.append(outcome.status)
        time.sleep(1.2)
    assert statuses == ["scored"] * 3


def test_what_comes_back_after_its_limit_has_timed_out(bench: Bench) -> None:
    # Nobody looks at the clock while the caller is away, so that it is back before it could be killed.
    source = """
    import time
    def evaluate(session):
        time.sleep(session.session.inputs)
        return True
    """
    spec = bench.register(source, time_limit=0.1)
    jobs = [SessionJob(session(seconds), [(name, 0)]) for name, seconds in (("quick", 0.0), ("late", 0.2))]
    statuses = {}
    for outcome in bench.pool.score([Assignment(spec)], jobs):
        statuses[outcome.key] = outcome.status
        time.sleep(0.25)
    assert statuses["late"] == "timed_out"


def test_processes_are_kept_and_shared(bench: Bench) -> None:
    source = "import os\ndef evaluate(session):\n    return os.getpid()\n"
    one, other = bench.register(source, name="one"), bench.register(source + "X = 1\n", name="other")
    first, second = bench.score(one, other), bench.score(one, other)
    pids = {outcome.results[0]["score"] for outcome in [*first.values(), *second.values()]}
    assert len(pids) == 1


def test_threads_get_processes_of_their_own(bench: Bench) -> None:
    spec = bench.register("import time\ndef evaluate(session):\n    time.sleep(0.02); return True\n")
    outcomes: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda: outcomes.append(bench.score(spec, inputs=range(20)))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [{one.status for one in some.values()} for some in outcomes] == [{"scored"}] * 3


def test_a_process_outlives_the_thread_that_started_it(bench: Bench) -> None:
    spec = bench.register("import os\ndef evaluate(session):\n    return os.getpid()\n")
    found: list[float] = []

    def score() -> None:
        found.append(bench.score(spec)["check:ok"].results[0]["score"])

    for _ in range(2):
        thread = threading.Thread(target=score)
        thread.start()
        thread.join()
        time.sleep(0.1)
    assert found[0] == found[1]


SEES = """
import os
def evaluate(session, *, name: str):
    return os.environ.get(name, "nothing")
"""


def test_a_connection_is_its_own_evaluators_alone(tmp_path: Path) -> None:
    own = {
        **ENVIRONMENT,
        "REJUDGE_DATABASE_URL": "postgresql://u:secret@h/d",
        "PREFECT_API_KEY": "pnu_secret",
        "ACME_KEY": "sk-acme-secret",
        "PLAIN": "seen",
    }
    with WorkerPool(own, environments=tmp_path, withheld=["ACME_KEY"]) as pool:
        bench = Bench(tmp_path, pool)
        spec = bench.register(SEES)
        connection = {"ACME_KEY": "sk-acme-secret", "ACME_URL": "https://acme.example"}

        def seen(name: str, connection: dict[str, str]) -> str:
            outcome = bench.score(Assignment(spec, {"name": name}, connection))["check:ok"]
            return str(outcome.results[0]["value"])

        assert seen("PLAIN", {}) == "seen"
        assert [seen(name, {}) for name in ("ACME_KEY", "REJUDGE_DATABASE_URL", "PREFECT_API_KEY")] == ["nothing"] * 3
        assert seen("ACME_URL", connection) == "https://acme.example"
        assert seen("ACME_KEY", connection) == "***"  # it reads the key, and cannot put it on a row


@pytest.mark.parametrize(
    "body",
    ["raise RuntimeError(key)", "raise EvaluationError(key)", "print(key); os._exit(1)", "return key"],
    ids=["traceback", "message", "log", "result"],
)
def test_secrets_reach_no_row(bench: Bench, body: str) -> None:
    spec = bench.register(f"import os\ndef evaluate(session):\n    key = os.environ['API_TOKEN']\n    {body}\n")
    outcome = bench.score(Assignment(spec, connection={"API_TOKEN": 'to"ken-12345'}))["check:ok"]
    assert "12345" not in repr(outcome)
    assert "***" in repr(outcome)


def test_child_environment_and_secrets() -> None:
    own = {"PATH": "/bin", "REJUDGE_JUDGE_KEY": "k", "PGPASSWORD": "p", "OTHER": "x"}
    assert child_environment(own, {"KEY": "v"}, withheld=["OTHER"]).keys() >= {"PATH", "KEY"}
    assert (
        child_environment(own, {}, withheld=["OTHER"]).keys().isdisjoint({"REJUDGE_JUDGE_KEY", "PGPASSWORD", "OTHER"})
    )
    assert secrets_in({"API_KEY": "longer-secret", "TOKEN": "secret", "URL": "https://x", "A_KEY": "ab"}) == (
        "longer-secret",
        "secret",
    )


def test_what_evaluators_print_is_kept_within_bounds(tmp_path: Path) -> None:
    with WorkerPool(ENVIRONMENT, environments=tmp_path) as pool:
        bench = Bench(tmp_path, pool)
        spec = bench.register("import sys\ndef evaluate(session):\n    print('x' * 300_000 + 'end'); return True\n")
        assert bench.score(spec)["check:ok"].status == "scored"
        assert pool.log.endswith("xend\n")
        assert len(pool.log) <= 64 * 1024


def test_an_interpreter_that_is_not_there_is_an_error_that_says_so(tmp_path: Path) -> None:
    worker = Worker(child_environment(ENVIRONMENT, {}), interpreter=str(tmp_path / "python"))
    with pytest.raises((RejudgeError, Exception), match="python"):
        worker.ask({"do": "hello"}, limit=5)


def test_an_interpreter_without_what_the_worker_needs_says_so(tmp_path: Path) -> None:
    worker = Worker({"PATH": os.environ["PATH"]}, root=str(tmp_path), interpreter=sys.executable)
    (tmp_path / "rejudge").mkdir()
    broken = Worker({**ENVIRONMENT, "PYTHONHOME": str(tmp_path)})
    with pytest.raises(RejudgeError, match="cannot be started"):
        broken.ask({"do": "hello"}, limit=5)
    worker.close()


PARENT = """
import os, sys, time
from pathlib import Path
sys.path[:0] = [{root!r}]
from tests.scoring.bench import ENVIRONMENT, Bench, session
from rejudge.scoring.outcome import Assignment, SessionJob
from rejudge.scoring.pool import WorkerPool
folder = Path({folder!r})
with WorkerPool(ENVIRONMENT, environments=folder) as pool:
    spec = Bench(folder, pool).register({source!r})
    for outcome in pool.score([Assignment(spec)], [SessionJob(session(n), [(str(n), 0)]) for n in range(3)]):
        print(outcome.results[0]["score"], flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "terminate"])
def test_a_process_does_not_outlive_its_parent(tmp_path: Path, how: signal.Signals) -> None:
    # It says who it is, then holds the GIL for ever: no thread of its own could end it.
    source = """
    import os, re
    def evaluate(session):
        if session.session.inputs == 0:
            return os.getpid()
        re.match(r'(a+)+$', 'a' * 60 + 'b')
    """
    script = PARENT.format(root=str(Path(__file__).parents[2]), folder=str(tmp_path), source=source)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = psutil.Process(int(float(parent.stdout.readline())))
        time.sleep(0.2)
        parent.send_signal(how)
        parent.wait()
        psutil.wait_procs([child], timeout=10)
        assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_scoring_a_thousand_small_sessions_costs_little(bench: Bench) -> None:
    # Some 0.1 ms of processor time each where it was written; the bound leaves room for slow machines.
    spec = bench.register("import time\ndef evaluate(session):\n    return time.process_time()\n")
    wires = [session(number) for number in range(1000)]
    jobs = [SessionJob(wire, [(f"{number}:{one}", 0) for one in range(3)]) for number, wire in enumerate(wires)]
    bench.score(spec)
    before = time.process_time()
    theirs = [outcome.results[0]["score"] for outcome in bench.pool.score([Assignment(spec)], jobs)]
    spent = time.process_time() - before + max(theirs) - min(theirs)
    assert len(theirs) == 3000
    assert spent / 3000 < 0.001


def test_the_worker_imports_little(bench: Bench) -> None:
    source = """
    import sys
    def evaluate(session):
        heavy = {"prefect", "sqlalchemy", "sqlmodel", "numpy", "jsonschema", "psutil", "httpx", "packaging"}
        return ",".join(sorted(heavy & set(sys.modules)))
    """
    assert bench.score_one(source).results[0]["value"] == ""


def test_a_pool_can_be_used_where_a_loop_runs(bench: Bench) -> None:
    spec = bench.register("def evaluate(session): return True\n")

    async def score() -> dict[str, Any]:
        return await asyncio.to_thread(bench.score, spec)

    assert asyncio.run(score())["check:ok"].status == "scored"
