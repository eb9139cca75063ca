"""A store with sessions in it, made in no time."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from rejudge.models.recording import Recording
from rejudge.models.session import Node, Session, SessionView
from rejudge.store.engine import Database, connect
from rejudge.store.schema import prepare
from rejudge.store.writing import Placement, save_recordings

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
PADDING = "The parcel left the warehouse on Monday and is due on Thursday. "


def store_with_sessions(path: Path, count: int, *, nodes: int = 4, agent: str = "desk") -> Database:
    """An SQLite store with sessions 1 to `count`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = connect(f"sqlite:///{path}")
    prepare(database)
    fill(database, count, nodes=nodes, agent=agent)
    return database


def fill(database: Database, count: int, *, nodes: int = 4, agent: str = "desk") -> None:
    """Put sessions 1 to `count` into an empty store: model and tool calls in turn."""
    recordings = [Recording(session_view(number, nodes)) for number in range(1, count + 1)]
    for start in range(0, count, 100):
        save_recordings(database, recordings[start : start + 100], Placement(agent=agent))


def session_view(number: int, nodes: int) -> SessionView:
    """One session that ended well."""
    external = hashlib.sha256(str(number).encode()).hexdigest()[:32]
    made = [_node(number, index) for index in range(nodes)]
    head = Session(
        external_id=external,
        source="otel:desk",
        started_at=START + timedelta(minutes=number),
        ended_at=START + timedelta(minutes=number, seconds=number % 50),
        node_count=nodes,
        digest=hashlib.sha256(f"{number}/{nodes}".encode()).hexdigest(),
        inputs={"text": f"Where is order {number}?"},
        outputs={"text": f"Order {number} is on its way."},
    )
    return SessionView(head, made)


def _node(number: int, index: int) -> Node:
    model_call = index % 2 == 0
    return Node(
        id=f"{index:016x}",
        index=index,
        node_type="llm_call" if model_call else "tool_call",
        name="chat" if model_call else "execute_tool lookup",
        parent_id="f" * 16,
        tool_name=None if model_call else f"lookup_{index % 4}",
        model="gpt-4o-mini" if model_call else None,
        input_tokens=100 + index if model_call else None,
        output_tokens=20 if model_call else None,
        cost=Decimal("0.0001") if model_call else None,
        cost_status="recorded" if model_call else None,
        started_at=START + timedelta(minutes=number, milliseconds=100 * index),
        ended_at=START + timedelta(minutes=number, milliseconds=100 * index + 80),
        inputs={"messages": [{"role": "user", "parts": [{"type": "text", "content": f"{PADDING}{number}/{index}"}]}]}
        if model_call
        else {"order": number, "step": index},
        outputs={"messages": [{"role": "assistant", "parts": [{"type": "text", "content": PADDING}]}]}
        if model_call
        else {"found": True},
    )
