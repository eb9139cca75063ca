"""Baselines for tests, and agents in files of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import psutil

from rejudge.models.agent import AgentSpec, Limits
from rejudge.models.policy import PassthroughPolicy, PolicySet
from rejudge.models.replay import ReplayResult
from rejudge.models.session import Node, Session, SessionView
from rejudge.replay import agent_spec

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def tool(name: str, arguments: Any = None, result: Any = None, **facts: Any) -> dict[str, Any]:
    """The facts of a tool node."""
    return {
        "node_type": "tool_call",
        "name": name,
        "tool_name": name,
        "inputs": arguments or {},
        "outputs": result,
        **facts,
    }


def model(said: str, answer: str = "", *, calls: Sequence[Mapping[str, Any]] = (), **facts: Any) -> dict[str, Any]:
    """The facts of a model node: one user message, one answer."""
    parts: list[dict[str, Any]] = [{"type": "text", "content": answer}] if answer else []
    parts += [{"type": "tool_call", **call} for call in calls]
    return {
        "node_type": "llm_call",
        "name": "chat desk",
        "model": "desk-2026",
        "requested_model": "desk",
        "inputs": {"messages": [message("user", said)]},
        "outputs": {"messages": [{"role": "assistant", "parts": parts, "finish_reason": "stop"}]},
        **facts,
    }


def message(role: str, text: str) -> dict[str, Any]:
    """A text message in the GenAI schema."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def session(*nodes: dict[str, Any], inputs: Any = "hello", outputs: Any = None, **facts: Any) -> SessionView:
    """A session of these nodes, one second each, one after the other."""
    made = []
    for index, node in enumerate(nodes):
        begins = START + timedelta(seconds=index)
        times = {"started_at": begins, "ended_at": begins + timedelta(seconds=0.9)}
        made.append(Node(**{"id": f"n{index}", "index": index, **times, **node}))
    return SessionView(Session(id="base", agent="support", inputs=inputs, outputs=outputs, **facts), made)


def agent(folder: Path, source: str, *, function: str = "run", timeout: float = 20, **options: Any) -> AgentSpec:
    """A function agent in a file."""
    path = folder / "agent.py"
    path.write_text(dedent(source))
    limits = Limits(timeout_seconds=timeout)
    return agent_spec(entrypoint=f"agent.py:{function}", folder=folder, limits=limits, **options)


def script(folder: Path, source: str, *, timeout: float = 20, **options: Any) -> AgentSpec:
    """A command agent in a file."""
    (folder / "agent.py").write_text(dedent(source))
    return agent_spec(command="python agent.py", folder=folder, limits=Limits(timeout_seconds=timeout), **options)


LIVE = PolicySet(tools_default=PassthroughPolicy())
"""Every tool is really called."""


def view_of(result: ReplayResult) -> SessionView:
    assert result.recording is not None, result.reason
    return result.recording.view


def with_inputs(view: SessionView, inputs: Any) -> SessionView:
    return SessionView(view.session.model_copy(update={"inputs": inputs}), view.nodes)


def running_in(folder: Path) -> list[psutil.Process]:
    """The processes whose working folder it is: an agent, and what it started."""
    return [process for process in psutil.process_iter() if _runs_in(process, folder)]


def _runs_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return process.cwd() == str(folder) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
