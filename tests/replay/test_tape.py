"""The tape: which recorded call answers which call."""

from __future__ import annotations

import hashlib
import threading
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rejudge.models.session import SessionView
from rejudge.replay.keys import argument_differences, call_key, without
from rejudge.replay.recorded import build_tape
from rejudge.replay.request import ModelRequest
from rejudge.replay.tape import Absence, RecordedCall, Tape
from rejudge.replay.values import jsonable

from .build import START, message, model, session, tool

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def claim(tape: Tape, name: str, arguments: Any, **options: Any) -> RecordedCall | Absence:
    return tape.claim_tool(name, [arguments], **options)


def results(tape: Tape, name: str, arguments: Any, times: int) -> list[Any]:
    found = [claim(tape, name, arguments) for _ in range(times)]
    return [call.result if isinstance(call, RecordedCall) else None for call in found]


def test_the_key_is_sha256_of_name_zero_and_canonical_arguments() -> None:
    expected = hashlib.sha256(b'refund\0{"amount":20,"id":"A1"}').hexdigest()
    assert call_key("refund", {"id": "A1", "amount": 20}) == expected
    assert call_key("refund", {"id": "A1", "amount": 20.0}) != expected


@settings(deadline=None)
@given(JSON, JSON)
@example(0.0, -0.0)
@example([1], [1.0])
@example({"a": None}, {})
def test_equal_arguments_and_only_those_have_no_differences(left: Any, right: Any) -> None:
    left, right = jsonable(left), jsonable(right)
    same = call_key("t", left) == call_key("t", right)
    assert same == (not argument_differences(left, right))


@settings(deadline=None)
@given(JSON)
def test_a_tape_reads_back_as_it_was_written(value: Any) -> None:
    value = jsonable(value)
    tape = Tape.from_bytes(build_tape(session(tool("look", {"x": value}, value))).to_bytes())
    assert results(tape, "look", {"x": value}, 1) == [value]


def test_the_nth_call_gets_the_nth_result_and_then_none() -> None:
    tape = build_tape(session(tool("next", {}, "a"), tool("next", {"x": 1}, "other"), tool("next", {}, "b")))
    assert results(tape, "next", {}, 2) == ["a", "b"]
    spent = claim(tape, "next", {})
    assert isinstance(spent, Absence) and "recorded 2 times" in spent.reason


def test_two_identical_calls_in_flight_get_one_result_each_a_thousand_times() -> None:
    view = session(*(tool("next", {"round": number // 2}, number) for number in range(2000)))
    tape = build_tape(view)
    got: list[set[Any]] = [set() for _ in range(1000)]

    def ask(barrier: threading.Barrier, seen: list[set[Any]]) -> None:
        for number in range(1000):
            barrier.wait()
            found = claim(tape, "next", {"round": number})
            assert isinstance(found, RecordedCall)
            seen[number].add(found.result)

    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=ask, args=(barrier, got)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [{2 * number, 2 * number + 1} for number in range(1000)]


@pytest.mark.parametrize(
    ("ignore", "left", "right", "same"),
    [
        (["request_id"], {"id": 1, "request_id": "a"}, {"id": 1, "request_id": "b"}, True),
        (["/meta/now"], {"meta": {"now": 1, "by": 2}}, {"meta": {"now": 9, "by": 2}}, True),
        (["/meta/now"], {"meta": {"now": 1, "by": 2}}, {"meta": {"now": 1, "by": 3}}, False),
        (["/items/0/at"], {"items": [{"at": 1, "x": 2}]}, {"items": [{"at": 5, "x": 2}]}, True),
        (["/a~1b/c~0d"], {"a/b": {"c~d": 1}}, {"a/b": {"c~d": 2}}, True),
        (["request_id"], {"request_id": "a"}, {}, True),
        (["now"], {"meta": {"now": 1}}, {"meta": {"now": 2}}, False),
    ],
    ids=["name", "pointer", "beside-pointer", "in-a-list", "escaped", "absent", "name-is-top-level"],
)
def test_volatile_arguments_are_left_out(ignore: list[str], left: Any, right: Any, same: bool) -> None:
    assert (call_key("t", left, ignore=ignore) == call_key("t", right, ignore=ignore)) is same
    tape = build_tape(session(tool("t", left, "found")))
    assert isinstance(claim(tape, "t", right, ignore=tuple(ignore)), RecordedCall) is same


@settings(deadline=None)
@given(JSON, st.lists(st.text(max_size=5), max_size=3))
def test_leaving_out_what_is_not_there_changes_nothing(value: Any, names: list[str]) -> None:
    kept = {f"kept-{number}": value for number in range(2)}
    assert without(kept, [f"gone-{name}" for name in names]) == kept


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"incomplete": "truncated"}, "truncated"),
        ({"incomplete": "redacted"}, "redacted"),
        ({"status": "in_progress", "ended_at": None}, "had not ended"),
    ],
    ids=["truncated", "redacted", "never-ended"],
)
def test_what_was_not_recorded_whole_is_a_miss_that_says_so(facts: dict[str, Any], says: str) -> None:
    found = claim(build_tape(session(tool("look", {"id": 1}, "half", **facts))), "look", {"id": 1})
    assert isinstance(found, Absence) and says in found.reason


def test_a_miss_shows_the_nearest_call_and_what_differs() -> None:
    view = session(tool("refund", {"id": "B2", "amount": 5}), tool("refund", {"id": "A1", "amount": 20}))
    found = claim(build_tape(view), "refund", {"id": "A1", "amount": 25})
    assert isinstance(found, Absence) and found.nearest is not None
    assert found.nearest.node_id == "n1"
    assert [(one.path, one.recorded, one.called) for one in found.differences] == [("/amount", 20, 25)]


def test_a_miss_of_an_unknown_tool_says_what_is_known() -> None:
    found = claim(build_tape(session(tool("look"), tool("list"))), "refund", {})
    assert isinstance(found, Absence) and "recorded are list, look" in found.reason


def wide(*views: SessionView) -> Tape:
    return build_tape(session(), wider={"agent": views})


def test_a_wider_scope_gives_the_newest_completed_match_again_and_again() -> None:
    older, newer = START.replace(year=2024), START.replace(year=2025)
    tape = wide(
        session(tool("look", {}, "new", ended_at=newer)),
        session(tool("look", {}, "old", ended_at=older)),
        session(tool("look", {}, None, status="failed", error="no", ended_at=START)),
        session(tool("look", {}, "cut", incomplete="truncated", ended_at=START)),
    )
    found = [claim(tape, "look", {}, scope="agent") for _ in range(3)]
    assert [call.result for call in found if isinstance(call, RecordedCall)] == ["new"] * 3
    assert isinstance(claim(tape, "look", {}), Absence)


def test_a_step_read_out_of_messages_answers_too() -> None:
    view = session(
        model("hi", calls=[{"id": "c", "name": "look", "arguments": {}}]), tool("look", {}, "x", inferred=True)
    )
    found = claim(build_tape(view), "look", {})
    assert isinstance(found, RecordedCall) and found.inferred


@pytest.mark.parametrize("recorded", [None, {}, "", "{}"], ids=["none", "empty", "blank", "text"])
def test_no_arguments_are_recorded_in_several_ways(recorded: Any) -> None:
    tape = build_tape(session(tool("now", None, 1) | {"inputs": recorded}))
    assert results(tape, "now", {}, 1) == [1]


def test_a_request_is_the_same_whatever_its_calls_are_numbered() -> None:
    def asked(call_id: str, *, grouped: bool) -> tuple[dict[str, Any], ...]:
        call = {"type": "tool_call", "id": call_id, "name": "look", "arguments": '{"id": 1}'}
        answer = {"type": "tool_call_response", "id": call_id, "response": '{"found": true}'}
        return (
            message("user", "hi"),
            {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, call] if grouped else [call]},
            {"role": "tool" if grouped else "user", "parts": [answer]},
        )

    recorded = model("hi", "done", inputs={"messages": list(asked("call_1", grouped=False))})
    tape = build_tape(session(recorded))
    found = tape.claim_model(ModelRequest("desk", asked("toolu_9", grouped=True)))
    assert isinstance(found, RecordedCall)


@pytest.mark.parametrize(
    ("recorded", "asked", "answers"),
    [
        ({}, {"parameters": {"temperature": 1}}, True),
        ({"parameters": {"temperature": 0}}, {"parameters": {"temperature": 0}}, True),
        ({"parameters": {"temperature": 0}}, {"parameters": {"temperature": 1}}, False),
        ({"tools": [{"name": "a"}]}, {"tools": ({"type": "function", "function": {"name": "a"}},)}, True),
        ({"tools": [{"name": "a"}]}, {"tools": ({"name": "b"},)}, False),
        ({"system_instructions": [{"type": "text", "content": "be kind"}]}, {}, False),
    ],
    ids=["not-recorded", "same", "other-parameter", "same-tools", "other-tools", "other-system"],
)
def test_a_request_with_other_settings_is_another(recorded: Any, asked: Any, answers: bool) -> None:
    node = model("hi", "hello")
    tape = build_tape(session({**node, "inputs": {**node["inputs"], **recorded}}))
    found = tape.claim_model(ModelRequest("desk", (message("user", "hi"),), **asked))
    assert isinstance(found, RecordedCall) is answers


def test_a_model_call_that_failed_fails_again_though_it_has_no_answer() -> None:
    facts = {"status": "failed", "error": "overloaded", "outputs": None, "incomplete": "not captured"}
    tape = build_tape(session({**model("hi"), **facts}))
    found = tape.claim_model(ModelRequest("desk", (message("user", "hi"),)))
    assert isinstance(found, RecordedCall) and found.error == "overloaded"
