"""Agents, and stored runs of them, to be replayed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

from rejudge.api.agents import Agents
from rejudge.models.policy import PassthroughPolicy, PolicySet
from rejudge.models.session import Session, SessionView
from rejudge.replay import agent_spec, replay_session
from rejudge.store.engine import Database
from rejudge.store.writing import Placement, save_recordings

ROOT = Path(__file__).parents[2]
LIVE = PolicySet(tools_default=PassthroughPolicy())

TALK = """
    import hashlib
    import rejudge
    from rejudge.replay import model_call

    def words(seed):  # that nothing compresses
        return " ".join(hashlib.sha256(f"{seed}/{number}".encode()).hexdigest() for number in range(40))

    @rejudge.tool
    def look(step: int) -> str:
        with open("looked", "a") as log:
            log.write(f"{step}\\n")
        return f"shelf {step}: {words(step)}"

    def answer(request):
        with open("asked", "a") as log:
            log.write(f"{request.model} {len(request.messages)}\\n")
        return f"{request.model} has read {len(request.messages)} messages: {words(len(request.messages))}"

    def run(inputs):
        messages = [{"role": "user", "content": inputs}]
        for step in range(6):
            said = model_call("desk", messages, answer, system="Be kind.").text
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": look(step)}]
        return said
"""
"""Six model calls and six tool calls, in turn: the root is node 0, the calls are nodes 1 to 12."""

PERFORM = """
import sys
from rejudge import api
from rejudge.api import replaying
from rejudge.models.requests import ReplayRequest
with api.open(sys.argv[1]) as store:
    replay, created = replaying.ask(store.database, ReplayRequest(session="1", agent=sys.argv[2]))
    print("asked", flush=True)
    ended = replaying.perform(store.database, replay.id)
    print(created, ended.id, ended.status, ended.result_session_id)
"""
"""A process that asks for a replay of session 1, and runs it."""


def register(database: Database, folder: Path, source: str, *, name: str = "desk", timeout: float = 20) -> str:
    """An agent in a file, registered; its reference."""
    (folder / f"{name}.py").write_text(dedent(source))
    version, _ = Agents(database).register(
        name, entrypoint=f"{name}.py:run", folder=str(folder), limits={"timeout_seconds": timeout}
    )
    return f"{version.agent}@{version.number}"


def record(database: Database, folder: Path, source: str, *, name: str = "desk", inputs: object = "hello") -> str:
    """A live run of an agent in a file, stored; the session's id. What it left in its folder is removed."""
    register(database, folder, source, name=name)
    spec = agent_spec(entrypoint=f"{name}.py:run", folder=folder)
    result = replay_session(SessionView(Session(inputs=inputs)), spec, agent=name, policies=LIVE)
    assert result.recording is not None and result.status == "completed", result.reason
    for left in ("looked", "asked"):
        (folder / left).unlink(missing_ok=True)
    return save_recordings(database, [result.recording], Placement(agent=name, origin="recorded"))[0].session_id


def lines(path: Path) -> list[str]:
    """What an agent has written down."""
    return path.read_text().splitlines() if path.exists() else []


def start_performing(database: Database, agent: str) -> subprocess.Popen[str]:
    """A process that replays session 1 with an agent."""
    url = database.url.render_as_string(hide_password=False)
    return subprocess.Popen([sys.executable, "-c", PERFORM, url, agent], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def until(condition: Callable[[], object], *, seconds: float = 60) -> None:
    """Return once the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.02)
