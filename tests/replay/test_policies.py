"""Policies and overrides as a person writes them."""

from __future__ import annotations

import re

import pytest

from rejudge.models.override import Override, parse_models
from rejudge.models.policy import HistoryPolicy, LlmPolicy, PolicySet, parse_model_policy, parse_tool_policy
from rejudge.models.replay import ForkPoint, replay_identity


@pytest.mark.parametrize(
    ("written", "policy"),
    [
        pytest.param("history", HistoryPolicy(), id="bare"),
        pytest.param("history(agent)", HistoryPolicy(scope="agent"), id="positional"),
        pytest.param(
            'history(on_miss=error_result, ignore=["request_id", "/meta/now"])',
            HistoryPolicy(on_miss="error_result", ignore=("request_id", "/meta/now")),
            id="by-name",
        ),
        pytest.param(
            'llm("openai:desk", instructions="be brief")',
            LlmPolicy(model="openai:desk", instructions="be brief"),
            id="llm",
        ),
        pytest.param(
            '{"kind": "history", "scope": "cohort_version"}', HistoryPolicy(scope="cohort_version"), id="json"
        ),
    ],
)
def test_a_tool_policy_is_read(written: str, policy: object) -> None:
    assert parse_tool_policy(written) == policy


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("histery", "there is no kind 'histery'"),
        ('{"kind": "statik"}', "there is no kind 'statik'"),
        ("history(world)", "history.scope: Input should be"),
        ('{"kind": "llm"}', "llm.model: Field required"),
        ("{}", "Unable to extract tag"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(written: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"({why}")):
        parse_tool_policy(written)


@pytest.mark.parametrize(
    "written", ["histery", "history(world)", "history(__import__('os'))", "1 + 1", "{", "passthrough(x)"]
)
def test_what_is_no_policy_says_what_is(written: str) -> None:
    with pytest.raises(ValueError, match=r"not a policy.*write passthrough, history"):
        parse_tool_policy(written)


def test_models_go_live_or_come_from_the_tape() -> None:
    assert [parse_model_policy(text).kind for text in ("live", "history", "until-divergence")] == [
        "passthrough",
        "history",
        "until-divergence",
    ]


def test_told_nothing_tools_come_from_the_baseline_and_models_are_live() -> None:
    policies = PolicySet()
    assert policies.for_tool("refund") == HistoryPolicy(scope="baseline", on_miss="fail")
    assert policies.for_model("desk").kind == "passthrough"
    assert policies.scopes == {"baseline"}


@pytest.mark.parametrize(
    ("written", "model"),
    [([], None), (["new"], "new"), (["a=b", "c=d"], {"a": "b", "c": "d"})],
    ids=["none", "every-model", "by-model"],
)
def test_models_to_change_are_read(written: list[str], model: object) -> None:
    assert parse_models(written) == model


@pytest.mark.parametrize("written", [["a", "b"], ["a", "b=c"], ["a=b", "a=c"], ["=b"], ["a="]])
def test_models_that_contradict_are_refused(written: list[str]) -> None:
    with pytest.raises(ValueError, match="--model"):
        parse_models(written)


def test_an_override_names_its_parts() -> None:
    override = Override(model={"a": "b", "c": "d"}, prompt="")
    assert override.parts == ("model:a", "model:c", "prompt")
    assert not Override()


def test_the_same_replay_has_the_same_identity() -> None:
    facts = {"baseline_digest": "b", "agent_digest": "a", "policies": PolicySet(), "override": Override(), "trial": 0}
    first = replay_identity(**facts, fork=ForkPoint(node_id="n", index=1, written="1"))
    again = replay_identity(**facts, fork=ForkPoint(node_id="n", index=1, written="tool:x#1"))
    other = replay_identity(**{**facts, "trial": 1}, fork=None)
    assert first == again != other
