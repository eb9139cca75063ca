"""Records that readers share: what one does to a payload, no other sees, whatever the payload is made of."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from typing import Any

import pytest

from rejudge.models.session import Node, Session, SessionView

PAYLOADS: dict[str, Any] = {
    "messages": {"messages": [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]},
    "a list": [1, 2.5, None, True, {"deep": ["er"]}],
    "large numbers": {"n": [2**80, -(2**80)]},
}


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS.keys())
def test_a_session_made_in_memory_is_as_it_was_for_the_next_reader(payload: Any) -> None:
    view = SessionView(Session(id="s", outputs=payload), [_node(0, payload)], baseline=Session(inputs=payload))
    for _ in range(2):
        reader = view.pristine()
        assert reader.nodes[0].inputs == reader.session.outputs == payload
        assert reader.baseline is not None and reader.baseline.inputs == payload
        for held in (reader.nodes[0].inputs, reader.session.outputs, reader.baseline.inputs):
            held.clear()


def test_attributes_keep_their_types() -> None:
    odd = {"cost": Decimal("0.1"), "pair": (1, 2), "nan": math.nan, "word": {"\ud800"}}
    node = Node(id="a", index=0, node_type="span", attributes=odd)
    first = node.pristine()
    assert first.attributes is not None and first.attributes is not odd
    assert first.attributes["pair"] == (1, 2) and first.attributes["cost"] == Decimal("0.1")
    first.attributes.clear()
    again = node.pristine().attributes
    assert again is not None and math.isnan(again["nan"]) and again["word"] == {"\ud800"}


def test_a_copy_that_says_otherwise_goes_on_saying_so() -> None:
    node = _node(0, {"order": 7})
    node.pristine()
    copied = node.model_copy(update={"inputs": {"order": 8}})
    assert copied.pristine().inputs == {"order": 8} and copied.pristine().outputs == "ok"
    assert node.pristine().inputs == {"order": 7}


def test_twenty_thousand_nodes_are_given_to_a_reader_who_does_not_look_in_no_time() -> None:
    begun = time.process_time()
    view = SessionView(Session(id="s"), [_node(index, PAYLOADS["messages"]) for index in range(20_000)])
    making = time.process_time() - begun
    view.pristine()
    spent = []
    for _ in range(3):  # the least of them: a collection of garbage may fall into one
        begun = time.process_time()
        view.pristine()
        spent.append(time.process_time() - begun)
    assert min(spent) < max(0.6, 4 * making)


def _node(index: int, payload: Any) -> Node:
    return Node(id=f"n{index}", index=index, node_type="tool_call", inputs=payload, outputs="ok")
