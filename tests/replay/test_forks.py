"""Overrides, fork points, and models from the tape."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rejudge.errors import NotFound, UsageError
from rejudge.models.override import Override
from rejudge.models.policy import HistoryPolicy, PassthroughPolicy, PolicySet, UntilDivergencePolicy
from rejudge.models.session import SessionView
from rejudge.replay import replay_session

from .build import LIVE, agent, session, view_of

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
