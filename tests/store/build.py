"""Small recordings for store tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from rejudge.models import Node, Session, SessionView, digest_of
from rejudge.models.recording import Recording

START = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)


def make_recording(
    external_id: str = "trace-1", *, steps: int = 3, source: str = "otel:desk", **facts: object
) -> Recording:
    """A session of `steps` nodes that takes turns between a model and a tool."""
    nodes = [_node(index) for index in range(steps)]
    session = Session(
        external_id=external_id,
        source=source,
        started_at=START,
        ended_at=START + timedelta(seconds=steps),
        inputs={"question": "Where is my order?"},
        outputs="It is on its way.",
        cost=Decimal("0.0012"),
        cost_status="recorded",
        tool_names=tuple("lookup_order" for node in nodes if node.node_type == "tool_call"),
        digest=digest_of([external_id, steps, sorted(map(str, facts.items()))]),
        **facts,  # type: ignore[arg-type]
    )
    return Recording(SessionView(session, nodes), trace_ids=(f"{external_id}-t",), spans=b"spans")


def _node(index: int) -> Node:
    tool = index % 2 == 1
    return Node(
        id=f"span-{index}",
        index=index,
        node_type="tool_call" if tool else "llm_call",
        name="execute_tool lookup_order" if tool else "chat gpt-4o-mini",
        tool_name="lookup_order" if tool else None,
        model=None if tool else "gpt-4o-mini",
        started_at=START + timedelta(seconds=index),
        ended_at=START + timedelta(seconds=index, milliseconds=500),
        cost=None if tool else Decimal("0.0004"),
        inputs={"order": index} if tool else {"messages": [{"role": "user", "parts": []}]},
        outputs={"state": "sent"} if tool else {"messages": []},
        attributes={"turn": index},
    )
