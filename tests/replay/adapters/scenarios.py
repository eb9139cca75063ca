"""What every adapter has to show, with an agent of its framework that plays the desk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from rejudge.models.override import Override
from rejudge.models.session import SessionView

from .desk import TURNS, Desk, served, touched
from .running import UNTIL, answers, assert_equal, recorded, replayed, tools


class Agent(NamedTuple):
    """An agent that plays the desk, and how it is asked."""

    run: Callable[[dict[str, Any]], Any]
    options: dict[str, Any] = {}  # noqa: RUF012
    desk: Callable[[], Desk] = Desk
    """Makes the model that it asks."""

    @property
    def inputs(self) -> dict[str, Any]:
        return {"turns": TURNS, **self.options}


def replays_unchanged(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> SessionView:
    """Recorded with a server, replayed without one: equal in all that counts, and no tool has run."""
    with served(agent.desk(), monkeypatch):
        baseline = recorded(agent.run, agent.inputs)
    ran = touched()
    assert len(ran) == 5
    outcome = replayed(agent.run, baseline)  # nobody listens there any more
    assert_equal(outcome, baseline)
    assert touched() == ran
    return baseline


OVERRIDES = {
    "model": Override(model="desk-9"),
    "one-model": Override(model={"desk-2": "desk-9"}),
    "system-prompt": Override(system_prompt="You are the weather desk of Oslo."),
    "prompt": Override(prompt="Compare Oslo and Rome."),
    "params": Override(model_params={"temperature": 0.9, "max_tokens": 50}),
}


def replays_with(name: str, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """One override: what is before the first request that it changes is the tape's, and what follows is live."""
    override = OVERRIDES[name]
    with served(agent.desk(), monkeypatch) as server:
        baseline = recorded(agent.run, agent.inputs)
        asked = len(server.requests)
        outcome = replayed(agent.run, baseline, policies=UNTIL, override=override)
    assert outcome.error is None, outcome.error
    assert outcome.applied == list(override.parts)
    assert outcome.divergence is not None and outcome.divergence.kind == "arguments"
    sent = [request.body for request in server.requests[asked:]]
    same = len(baseline.llm_calls) - len(sent) if name == "one-model" else 0
    assert answers(outcome.view) == ["history"] * same + ["live"] * len(sent)
    assert outcome.divergence.step == _steps_before(baseline, same)
    _was_sent(name, sent)
    if name == "prompt":
        cities = [str(node.inputs.get("city")) for node in outcome.view.tool_calls]
        assert {"Oslo", "Rome"} <= set(cities) and "Paris" not in cities
    else:
        assert sorted(map(str, tools(outcome.view))) == sorted(map(str, tools(baseline)))


def _steps_before(view: SessionView, model_calls: int) -> int:
    """How many calls come before the model call of that number."""
    index = view.llm_calls[model_calls].index
    return sum(node.index < index for node in (*view.llm_calls, *view.tool_calls))


def _was_sent(name: str, sent: list[dict[str, Any]]) -> None:
    """The model got the change."""
    first = sent[0]
    items = first.get("input") or first.get("messages")
    if name == "model":
        assert {body["model"] for body in sent} == {"desk-9"}
    elif name == "one-model":
        assert [body["model"] for body in sent][:2] == ["desk-9", "desk-9"]
        assert "desk-1" in {body["model"] for body in sent[2:]} or len(sent) <= 3
    elif name == "params":
        limits = {_limit(body) for body in sent}
        assert {body["temperature"] for body in sent} == {0.9} and limits == {50}
    elif name == "system-prompt":
        systems = [first.get("instructions"), first.get("system"), items[0].get("content")]
        assert "You are the weather desk of Oslo." in systems
    else:
        assert "Compare Oslo and Rome." in str(items) and "Paris" not in str(items)


def _limit(body: dict[str, Any]) -> Any:
    return body.get("max_tokens") or body.get("max_output_tokens") or body.get("max_completion_tokens")
