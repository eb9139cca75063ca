"""Stored sessions, as they cross to an evaluator's process."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest
import zstandard

from rejudge.models.packs import PackWriter
from rejudge.models.session import Node, Session, SessionView
from rejudge.models.wire import WireSession, view_of, wire_of

START = datetime(2026, 3, 1, 9, 30, 0, 250_000, tzinfo=UTC)


def _payload(*values: Any) -> bytes:
    return zstandard.ZstdCompressor().compress(orjson.dumps(values))


def _stored() -> WireSession:
    writer = PackWriter()
    payload = writer.add(orjson.dumps([{"order": 7}, {"ok": True}]))
    attributes = writer.add(orjson.dumps({"http.status": 200}))
    return WireSession(
        facts={"id": "s1", "tool_names": '["refund"]', "cost": "0.25", "complete": 1, "agent_id": "not a field"},
        node_fields=(
            "position",
            "id",
            "node_type",
            "started_at",
            "cost",
            "link_ids",
            "payload_ref",
            "attributes_ref",
        ),
        node_rows=[
            (0, "a", "llm_call", "2026-03-01 09:30:00.250000", "0.1", None, None, None),
            (1, "b", "tool_call", None, None, '["a"]', payload, attributes),
        ],
        packs=[pack.data for pack in writer.packs() if pack],
        payload=_payload("hello", "bye", {"k": 1}),
    )


def test_view_of_a_stored_session_has_the_types_of_the_model() -> None:
    view = view_of(_stored())
    first, second = view.nodes
    assert (view.session.tool_names, view.session.cost, view.session.complete) == (("refund",), Decimal("0.25"), True)
    assert (first.index, first.started_at, first.cost, first.link_ids) == (0, START, Decimal("0.1"), ())
    assert (second.link_ids, second.inputs, second.outputs) == (("a",), {"order": 7}, {"ok": True})
    assert second.attributes == {"http.status": 200}
    assert (first.inputs, first.attributes) == (None, None)


def test_view_of_decodes_the_sessions_own_payload_on_touch() -> None:
    session = view_of(_stored()).session
    assert "outputs" not in session.__dict__
    assert (session.inputs, session.outputs, session.metadata) == ("hello", "bye", {"k": 1})


def test_what_one_reader_does_to_a_payload_is_invisible_to_the_next() -> None:
    view = view_of(_stored())
    first = view.pristine()
    first.nodes[1].inputs["order"] = 8
    assert view.pristine().nodes[1].inputs == {"order": 7}


@pytest.mark.parametrize(
    "stored",
    [
        START,
        "2026-03-01T09:30:00.250000",
        "2026-03-01 09:30:00.250000",
        "2026-03-01T09:30:00.25Z",
        "2026-03-01T10:30:00.250000+01:00",
        "2026-03-01T06:30:00.250000-03:00",
        1_772_357_400_250_000,
    ],
    ids=["datetime", "naive", "space", "zulu", "east", "west", "microseconds"],
)
def test_times_are_read_in_every_stored_form(stored: Any) -> None:
    view = view_of(WireSession(facts={"started_at": stored}))
    assert view.session.started_at == START


def test_a_replay_carries_its_baseline() -> None:
    wire = WireSession(facts={"id": "new"}, baseline_facts={"id": "old"}, baseline_payload=_payload(1, 2, None))
    view = view_of(wire)
    assert view.baseline is not None
    assert (view.baseline.id, view.baseline.outputs) == ("old", 2)


def test_a_session_that_is_not_stored_crosses_whole() -> None:
    node = Node(id="a", index=0, node_type="tool_call", started_at=START, cost=Decimal("0.1"), inputs={"x": 1})
    view = SessionView(Session(id="s", outputs="bye", tags=("t",)), [node], baseline=Session(id="old", inputs=3))
    again = view_of(wire_of(view))
    assert again.session.decoded().model_dump() == view.session.model_dump()
    assert again.nodes[0].decoded().model_dump() == node.model_dump()
    assert again.baseline is not None
    assert again.baseline.inputs == 3
