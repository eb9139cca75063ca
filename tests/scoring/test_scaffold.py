"""The file that a new evaluator starts from, and the session to try it on."""

from __future__ import annotations

import pytest

from rejudge.errors import UsageError
from rejudge.models.session import TERMINAL
from rejudge.models.wire import wire_of
from rejudge.scoring.outcome import Assignment, SessionJob
from rejudge.scoring.sample import sample_session
from rejudge.scoring.scaffold import file_name, scaffold
from tests.scoring.bench import Bench


@pytest.mark.parametrize("name", ["refund-check", "acme/tone.v2", "3d"])
def test_what_scaffold_writes_runs_as_it_is(bench: Bench, name: str) -> None:
    path = bench.folder / file_name(name)
    path.write_text(scaffold(name))
    spec = bench.inspect(path).numbered(name, 1)
    assert spec.parameter_schema["properties"] == {"maximum": {"type": "integer", "default": 5}}
    job = SessionJob(wire_of(sample_session()), [("default", 0), ("strict", 1)])
    outcomes = {one.key: one for one in bench.pool.score([Assignment(spec), Assignment(spec, {"maximum": 1})], [job])}
    assert {key: one.results[0]["passed"] for key, one in outcomes.items()} == {"default": True, "strict": False}
    assert outcomes["default"].results[0]["evidence"] == {"nodes": ["tool-2", "tool-4"]}


def test_scaffold_names_the_file_and_the_commands() -> None:
    text = scaffold("acme/refund-check")
    assert "rejudge evaluator register acme/refund-check --script refund_check.py" in text
    assert "__" not in text


@pytest.mark.parametrize("name", ["rejudge/mine", "no spaces", ""])
def test_scaffold_refuses_names_that_could_not_be_registered(name: str) -> None:
    with pytest.raises(UsageError):
        scaffold(name)


def test_the_sample_is_a_whole_session() -> None:
    view = sample_session()
    assert view.session.status in TERMINAL
    assert view.session.tool_names == tuple(node.tool_name for node in view.tool_calls)
    assert view.session.llm_call_count == len(view.llm_calls)
    assert view.session.input_tokens == sum(node.input_tokens or 0 for node in view.llm_calls)
    assert view.session.cost == sum(node.cost or 0 for node in view.llm_calls)
    assert [node.index for node in view.nodes] == list(range(view.session.node_count))
