"""``@rejudge.tool`` in a replay: what a call gets, and whether its body runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

import rejudge
from rejudge.errors import NoRecordedAnswer, RecordedToolError, ReplayEnded
from rejudge.models.policy import PolicySet
from rejudge.models.session import SessionView
from rejudge.replay import replaying

from .build import session, tool


class Order(BaseModel):
    id: str
    placed: date


@dataclass
class Parcel:
    weight: Decimal
    stops: tuple[str, ...]


class Row(TypedDict):
    name: str


class Declined(Exception):
    """A failure of the shop's own."""


class NeedsTwo(Exception):
    """Its constructor wants more than a text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


RAN: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> Iterator[None]:
    RAN.clear()
    yield


@rejudge.tool
def refund(order_id: str, amount: float, currency: str = "EUR") -> dict[str, Any]:
    """Pay money back.

    For real.
    """
    RAN.append("refund")
    return {"paid": amount, "currency": currency, "order": order_id}


def policies(**tools: Any) -> PolicySet:
    return PolicySet.model_validate({"tools": tools})


def test_outside_of_a_replay_it_is_the_function() -> None:
    assert refund("A1", amount=2.0)["paid"] == 2.0
    assert refund.__name__ == "refund" and refund.__doc__ and refund.__doc__.startswith("Pay")


def test_told_nothing_a_recorded_call_is_answered_and_its_body_does_not_run() -> None:
    with replaying(session(tool("refund", {"order_id": "A1", "amount": 2.0}, {"paid": 2}))) as replay:
        assert refund("A1", 2.0) == {"paid": 2}
    assert not RAN and replay.told.counts == {("tool", "history"): 1}


def test_told_nothing_a_new_call_ends_the_replay_and_its_body_does_not_run() -> None:
    with (
        replaying(session(tool("refund", {"order_id": "A1", "amount": 2.0}))) as replay,
        pytest.raises(ReplayEnded, match=r"'refund'.*these arguments"),
    ):
        refund("A1", 3.0)
    assert not RAN
    assert replay.told.miss is not None and replay.told.miss.differences[0].path == "/amount"


def test_an_agent_that_swallows_the_end_gets_no_further_call() -> None:
    with replaying(session(tool("refund", {"order_id": "A1", "amount": 2.0}))) as replay:
        for amount in (3.0, 2.0):
            try:
                refund("A1", amount)
            except BaseException as error:
                assert isinstance(error, ReplayEnded)
    assert not RAN and replay.told.counts == {}


@pytest.mark.parametrize(
    ("recorded", "called"),
    [
        ({"order_id": "A1", "amount": 2.0}, {"currency": "EUR"}),
        ({"order_id": "A1", "amount": 2.0, "currency": "EUR"}, {}),
    ],
    ids=["default-said", "default-recorded"],
)
def test_a_default_that_is_spelled_out_is_the_same_call(recorded: dict[str, Any], called: dict[str, Any]) -> None:
    with replaying(session(tool("refund", recorded, {"paid": 2}))):
        assert refund("A1", 2.0, **called) == {"paid": 2}


@pytest.mark.parametrize(
    ("policy", "ran", "gets"),
    [
        ({"kind": "passthrough"}, 1, 3.0),
        ({"kind": "history", "on_miss": "passthrough"}, 1, 3.0),
        ({"kind": "history", "on_miss": "error_result"}, 0, NoRecordedAnswer),
        ({"kind": "history", "on_miss": "fail"}, 0, ReplayEnded),
        ({"kind": "history", "ignore": ["amount"]}, 0, 2),
        ({"kind": "static", "cases": [{"result": {"paid": 9}}]}, 0, 9),
        ({"kind": "static", "cases": [{"match": {"amount": 3}, "result": {"paid": 8}}]}, 0, 8),
        ({"kind": "static", "cases": [{"match": {"amount": 4}}]}, 0, ReplayEnded),
        ({"kind": "static", "cases": [{"match": {"amount": 3}, "mode": "exact"}]}, 0, ReplayEnded),
        ({"kind": "static", "cases": [], "on_miss": "error_result"}, 0, NoRecordedAnswer),
        ({"kind": "static", "cases": [], "on_miss": "passthrough"}, 1, 3.0),
        ({"kind": "static", "cases": [{"error": "bank closed"}]}, 0, RecordedToolError),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)
def test_a_policy_decides_what_a_new_call_gets(policy: dict[str, Any], ran: int, gets: Any) -> None:
    baseline = session(tool("refund", {"order_id": "A1", "amount": 2.0}, {"paid": 2}))
    with replaying(baseline, policies=policies(refund=policy)):
        if isinstance(gets, type):
            with pytest.raises(gets):
                refund("A1", 3.0)
        else:
            assert refund("A1", 3.0)["paid"] == gets
    assert len(RAN) == ran


@pytest.mark.parametrize(
    ("part", "whole", "found"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}, "d": 3}, True),
        ({"a": [1]}, {"a": [2, 1]}, True),
        ({"a": [{"x": 1}]}, {"a": [{"x": 1, "y": 2}]}, True),
        ({"a": [3]}, {"a": [2, 1]}, False),
        ({"a": None}, {}, False),
        ({"a": True}, {"a": 1}, False),
    ],
)
def test_a_subset_matches_at_any_depth(part: dict[str, Any], whole: dict[str, Any], found: bool) -> None:
    case = {"kind": "static", "cases": [{"match": part, "result": 1}], "on_miss": "error_result"}

    @rejudge.tool
    def look(**query: Any) -> int:
        return 0

    with replaying(session(), policies=policies(look=case)):
        if found:
            assert look(**whole) == 1
        else:
            with pytest.raises(NoRecordedAnswer):
                look(**whole)


@pytest.mark.parametrize(
    ("declared", "recorded", "expected"),
    [
        (Order, {"id": "A1", "placed": "2026-01-02"}, Order(id="A1", placed=date(2026, 1, 2))),
        (list[Order], [{"id": "A", "placed": "2026-01-02"}], [Order(id="A", placed=date(2026, 1, 2))]),
        (Parcel, {"weight": "1.50", "stops": ["a", "b"]}, Parcel(Decimal("1.50"), ("a", "b"))),
        (Row, {"name": "x"}, {"name": "x"}),
        (Order | None, None, None),
        (dict, '{"a": 1}', {"a": 1}),
        (str, {"a": 1}, '{"a":1}'),
        (str, 42, "42"),
        (int, "42", 42),
        (bytes, "aGk=", b"aGk="),
        (Any, {"a": 1}, {"a": 1}),
        (None, None, None),
        (Path, "/tmp/x", Path("/tmp/x")),
        ("Unknown", {"a": 1}, {"a": 1}),
    ],
    ids=str,
)
def test_a_recorded_result_comes_back_as_the_declared_type(declared: Any, recorded: Any, expected: Any) -> None:
    def look() -> Any:
        raise AssertionError("the body must not run")

    look.__annotations__["return"] = declared
    with replaying(session(tool("look", {}, recorded))):
        assert rejudge.tool(look)() == expected


def test_a_recorded_result_of_another_type_is_a_miss_that_says_so() -> None:
    @rejudge.tool
    def look() -> Order:
        raise AssertionError("the body must not run")

    with replaying(session(tool("look", {}, {"id": "A1"}))) as replay, pytest.raises(ReplayEnded):
        look()
    assert replay.told.miss is not None and "not a Order: placed" in replay.told.miss.reason


@pytest.mark.parametrize(
    ("recorded", "raised", "says"),
    [
        ("ValueError", ValueError, "no"),
        ("builtins.ValueError", ValueError, "no"),
        (f"{__name__}.Declined", Declined, "no"),
        ("__main__.Declined", Declined, "no"),
        ("Declined", Declined, "no"),
        (f"{__name__}.NeedsTwo", NeedsTwo, "no"),
        ("json.decoder.JSONDecodeError", json.JSONDecodeError, "no"),
        ("decimal.InvalidOperation", __import__("decimal").InvalidOperation, "no"),
        ("KeyError", KeyError, "no"),
        ("SystemExit", RecordedToolError, "no"),
        ("KeyboardInterrupt", RecordedToolError, "no"),
        ("not_loaded_module.Boom", RecordedToolError, "no"),
        ("antigravity.Boom", RecordedToolError, "no"),
        ("os.system", RecordedToolError, "no"),
        ("429", RecordedToolError, "no"),
        (None, RecordedToolError, "no"),
    ],
    ids=str,
)
def test_a_recorded_failure_is_raised_as_its_class_where_that_is_loaded(
    recorded: str | None, raised: type[Exception], says: str
) -> None:
    @rejudge.tool
    def look() -> int:
        raise AssertionError("the body must not run")

    failed = tool("look", {}, None, status="failed", error="no", error_type=recorded)
    with replaying(session(failed)), pytest.raises(raised, match=says) as caught:
        look()
    assert type(caught.value) is raised


def test_a_class_before_the_recorded_text_is_the_sdks_and_not_the_errors() -> None:
    @rejudge.tool
    def look() -> int:
        raise AssertionError("the body must not run")

    failed = tool("look", {}, None, status="failed", error="ValueError: no such order", error_type="ValueError")
    with replaying(session(failed)), pytest.raises(ValueError, match=r"\Ano such order\Z"):
        look()


def test_no_recorded_name_makes_anything_be_imported() -> None:
    import sys

    test_a_recorded_failure_is_raised_as_its_class_where_that_is_loaded("antigravity.Boom", RecordedToolError, "no")
    assert "antigravity" not in sys.modules


def shapes() -> dict[str, Callable[[], list[Any]]]:
    """The same tool as each shape of function, called to its end."""

    @rejudge.tool(name="count")
    def sync(upto: int) -> list[int]:
        RAN.append("body")
        return list(range(upto))

    @rejudge.tool(name="count")
    async def coroutine(upto: int) -> list[int]:
        RAN.append("body")
        return list(range(upto))

    @rejudge.tool(name="count")
    def generator(upto: int) -> Iterator[int]:
        RAN.append("body")
        yield from range(upto)

    @rejudge.tool(name="count")
    async def async_generator(upto: int) -> AsyncIterator[int]:
        RAN.append("body")
        for number in range(upto):
            yield number

    async def collect() -> list[int]:
        return [number async for number in async_generator(3)]

    class Counter:
        @rejudge.tool(name="count")
        def method(self, upto: int) -> list[int]:
            RAN.append("body")
            return list(range(upto))

        @rejudge.tool(name="count")
        async def __call__(self, upto: int) -> list[int]:
            RAN.append("body")
            return list(range(upto))

    return {
        "function": lambda: sync(3),
        "coroutine": lambda: asyncio.run(coroutine(3)),
        "generator": lambda: list(generator(3)),
        "async-generator": lambda: asyncio.run(collect()),
        "method": lambda: Counter().method(3),
        "callable-object": lambda: asyncio.run(Counter()(3)),
    }


@pytest.mark.parametrize("shape", shapes())
def test_every_shape_of_function_is_recorded_and_answered(shape: str) -> None:
    kept: list[Any] = []
    with rejudge.record("support", inputs="go", save=kept.append):
        assert shapes()[shape]() == [0, 1, 2]
    view: SessionView = kept[0].view
    assert [(node.tool_name, node.inputs, node.outputs) for node in view.tool_calls] == [
        ("count", {"upto": 3}, [0, 1, 2])
    ]
    assert RAN == ["body"]
    with replaying(view):
        assert shapes()[shape]() == [0, 1, 2]
    assert RAN == ["body"]


def test_a_generator_that_failed_midway_fails_again_after_the_same_items() -> None:
    @rejudge.tool
    def count() -> Iterator[int]:
        RAN.append("body")
        yield 1
        raise Declined("no more")

    def read() -> list[int]:
        seen = []
        with pytest.raises(Declined, match="no more"):
            seen.extend(iter_into(count(), seen))
        return seen

    kept: list[Any] = []
    with rejudge.record("support", save=kept.append):
        assert read() == [1]
    with replaying(kept[0].view):
        assert read() == [1]
    assert RAN == ["body"]


def iter_into(items: Iterator[int], seen: list[int]) -> list[int]:
    for item in items:
        seen.append(item)
    return []


def test_a_generator_whose_reader_stops_has_not_failed() -> None:
    @rejudge.tool
    def count() -> Iterator[int]:
        yield from range(100)

    kept: list[Any] = []
    with rejudge.record("support", save=kept.append):
        items = count()
        next(items)
        items.close()
    [node] = kept[0].view.tool_calls
    assert (node.status, node.outputs) == ("completed", [0])


@pytest.mark.parametrize(
    "result",
    ["", "plain", '{"a": 1}', '["x"]', "42", "null", '"quoted"', 42, 0, 1.5, True, None, [], {}, {"a": [None]}, "🙂"],
    ids=repr,
)
def test_a_result_comes_back_as_it_was_returned(result: Any) -> None:
    @rejudge.tool
    def look() -> Any:
        return result

    kept: list[Any] = []
    with rejudge.record("support", save=kept.append):
        look()
    with replaying(kept[0].view):
        again = look()
    assert again == result and type(again) is type(result)


def test_a_failure_of_ones_own_class_is_recorded_and_raised_again() -> None:
    @rejudge.tool
    def pay() -> None:
        raise Declined("card declined")

    kept: list[Any] = []
    with rejudge.record("support", save=kept.append), pytest.raises(Declined):
        pay()
    [node] = kept[0].view.tool_calls
    assert (node.status, node.error, node.error_type) == ("failed", "card declined", f"{__name__}.Declined")
    with replaying(kept[0].view), pytest.raises(Declined, match="card declined"):
        pay()


def test_two_identical_calls_in_flight_get_the_two_results() -> None:
    @rejudge.tool
    async def draw() -> int:
        await asyncio.sleep(0)
        raise AssertionError("the body must not run")

    async def both() -> set[int]:
        return set(await asyncio.gather(draw(), draw()))

    with replaying(session(tool("draw", {}, 1), tool("draw", {}, 2))):
        assert asyncio.run(both()) == {1, 2}
