"""What the replay benchmarks time, in a process of its own.

python -m benchmarks.replays calls COUNT
python -m benchmarks.replays runs COUNT
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import agent
from rejudge import SessionView, record
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.recording import Recording
from rejudge.replay import agent_spec, replay_session, replaying

INPUTS = {"order": "HG-1001"}
TAPE_ONLY = PolicySet(models_default=HistoryPolicy())
ROOT = Path(__file__).parents[1]


def baseline() -> SessionView:
    """A recorded run of the agent, kept nowhere."""
    kept: list[Recording] = []
    with record("bench", inputs=INPUTS, save=kept.append) as run:
        run.outputs = agent.run(INPUTS)
    return kept[0].view


def calls(count: int) -> dict[str, float]:
    """`count` replays within this process: what a call that the tape answers costs, and what it costs to make."""
    made = _seconds(lambda: agent.run(INPUTS), count)  # before a recording: nobody listens
    view = baseline()
    agent.World.closed = True

    def replay() -> None:
        with replaying(view, policies=TAPE_ONLY) as replayed:
            agent.run(INPUTS)
            assert replayed.told.counts == {("tool", "history"): 9, ("model", "history"): 10}

    replay()
    answered = _seconds(replay, count)
    return {"made": made / count / 19, "answered": answered / count / 19}


def runs(count: int) -> dict[str, float]:
    """`count` replays as the product runs them, two at a time, each agent in a process of its own."""
    bare = _seconds(lambda: agent.run(INPUTS), 50) / 50
    view = baseline()
    spec = agent_spec(entrypoint="benchmarks.replayed_agent:run", folder=ROOT)
    replay_session(view, spec, policies=TAPE_ONLY)  # starts what all of them share
    before, wall = _used(), time.monotonic()

    def one(trial: int) -> float:
        result = replay_session(view, spec, policies=TAPE_ONLY, trial=trial)
        assert result.status == "completed" and result.fidelity.ratio == 1.0, result.reason
        assert result.divergence is None, result.divergence
        return result.cpu_seconds

    with ThreadPoolExecutor(2) as pool:
        agents = sum(pool.map(one, range(count)))
    return {
        "ours": (_used() - before) / count,
        "agents": agents / count,
        "wall_seconds": time.monotonic() - wall,
        "bare": bare,
    }


def _seconds(work: Callable[[], object], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        work()
    return time.process_time() - began


def _used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def main() -> None:
    """Print what was measured as JSON."""
    work: dict[str, Callable[[int], dict[str, float]]] = {"calls": calls, "runs": runs}
    print(json.dumps(work[sys.argv[1]](int(sys.argv[2]))))


if __name__ == "__main__":
    main()
