"""What is said of a call that nothing answered: what it was, and how far the recorded ones are from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PolicySet
from rejudge.models.replay import ArgumentDifference
from rejudge.models.session import SessionView
from rejudge.replay import ModelRequest, replay_session
from rejudge.replay.request_differences import request_differences

from .build import LIVE, agent, message, script, session, view_of

TALK = """
    import rejudge
    from rejudge.replay import model_call

    def run(inputs):
        first = model_call("desk", inputs, lambda request: "hello", system="Be kind.", parameters={"temperature": 0})
        return model_call("desk", inputs + " again", lambda request: "bye", system="Be kind.").text
"""
COMMAND = f"{TALK}\n    if __name__ == '__main__':\n        with rejudge.record('talk'):\n            run('hi')\n"
TAPED = PolicySet(models_default=HistoryPolicy())


@pytest.fixture
def baseline(tmp_path: Path) -> SessionView:
    return view_of(replay_session(session(inputs="hi"), agent(tmp_path, TALK), policies=LIVE))


@pytest.mark.parametrize(
    ("override", "path", "recorded", "called"),
    [
        (Override(system_prompt="Be brief."), "/system", "Be kind.", "Be brief."),
        (Override(prompt="ho"), "/messages/0", "user: hi", "user: ho"),
        (Override(model="new"), "/model", "desk", "new"),
        (Override(model_params={"temperature": 1}), "/parameters/temperature", 0, 1),
    ],
    ids=["system-prompt", "prompt", "model", "params"],
)
@pytest.mark.parametrize("kind", ["function", "command"])
def test_a_changed_request_that_the_tape_cannot_answer_is_told_as_it_would_have_been_sent(
    tmp_path: Path, baseline: SessionView, kind: str, override: Override, path: str, recorded: Any, called: Any
) -> None:
    spec = agent(tmp_path, TALK) if kind == "function" else script(tmp_path, COMMAND)
    result = replay_session(baseline, spec, policies=TAPED, override=override)
    assert result.status == "failed" and result.miss is not None and result.miss.call == "model"
    [first] = baseline.llm_calls[:1]
    assert result.miss.nearest_node_id == first.id
    assert result.miss.differences == (ArgumentDifference(path=path, recorded=recorded, called=called),)
    assert result.divergence is not None
    assert (result.divergence.kind, result.divergence.step) == ("arguments", 0)
    assert result.divergence.message.endswith(f"{path} {str(recorded)!r} is now {str(called)!r}")


def test_the_nearest_recorded_call_of_a_tool_is_told_with_its_differences(tmp_path: Path) -> None:
    source = """
        import rejudge
        @rejudge.tool
        def pay(order, amount): return "paid"
        def run(inputs):
            for amount in (1, 2, 3): pay("A", amount)
    """
    baseline = view_of(replay_session(session(inputs="hi"), agent(tmp_path, source), policies=LIVE))
    changed = agent(tmp_path, source.replace('"A"', '"A" if amount < 3 else "B"'))
    miss = replay_session(baseline, changed).miss
    assert miss is not None and (miss.name, miss.arguments) == ("pay", {"order": "B", "amount": 3})
    assert miss.nearest_node_id == baseline.tool_calls[2].id
    assert miss.differences == (ArgumentDifference(path="/order", recorded="A", called="B"),)


def test_messages_are_compared_one_by_one() -> None:
    recorded = ModelRequest("desk", (message("user", "hi"), message("assistant", "hello")))
    asked = ModelRequest("desk", (message("user", "hi"), message("assistant", "hey"), message("user", "well?")))
    told = [(one.path, one.recorded, one.called, one.kind) for one in request_differences(recorded, asked)]
    assert told == [
        ("/messages/1", "assistant: hello", "assistant: hey", "changed"),
        ("/messages/2", None, "user: well?", "added"),
    ]
    assert not request_differences(recorded, recorded)
