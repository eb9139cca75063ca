"""Sessions, nodes, evaluations and scorings as flat rows: what a table of each holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rejudge.models.session import Node, Session, SessionView
from rejudge.store.engine import Database
from rejudge.store.evaluations import Evaluation, Scoring, Wanted, list_evaluations, list_scorings
from rejudge.store.reading import load_views

What: TypeAlias = Literal["sessions", "nodes", "evaluations", "scorings"]
ColumnType: TypeAlias = Literal["text", "texts", "int", "float", "bool", "time", "money", "json"]
Row: TypeAlias = dict[str, Any]

SESSIONS_AT_ONCE: Final = 50
"""How many sessions are in memory at once."""


@dataclass(frozen=True, slots=True)
class Table:
    """One kind of rows."""

    columns: Mapping[str, ColumnType]
    """Types by name, in order."""
    read: Callable[[Database, Sequence[str]], Iterable[Row]]
    """The rows of some sessions, in their order."""


def rows(database: Database, what: What, session_ids: Sequence[str]) -> Iterator[Row]:
    """The rows of sessions, in their order, some sessions in memory at a time."""
    table = TABLES[what]
    for start in range(0, len(session_ids), SESSIONS_AT_ONCE):
        yield from table.read(database, session_ids[start : start + SESSIONS_AT_ONCE])


def views(database: Database, session_ids: Sequence[str]) -> Iterator[SessionView]:
    """Sessions with their nodes, in their order, some in memory at a time."""
    for start in range(0, len(session_ids), SESSIONS_AT_ONCE):
        yield from load_views(database, session_ids[start : start + SESSIONS_AT_ONCE])


def _sessions(database: Database, session_ids: Sequence[str]) -> Iterator[Row]:
    for view in load_views(database, session_ids):
        yield {name: getattr(view.session, name) for name in _SESSION_COLUMNS}


def _nodes(database: Database, session_ids: Sequence[str]) -> Iterator[Row]:
    for view in load_views(database, session_ids):
        for node in view.nodes:
            yield {"session_id": view.session.id, **{name: getattr(node, name) for name in Node.model_fields}}


def _evaluations(database: Database, session_ids: Sequence[str]) -> Iterator[Row]:
    for one in _in_order(list_evaluations(database, Wanted(session_ids=session_ids)), session_ids):
        yield {name: getattr(one, name) for name in _EVALUATION_COLUMNS}


def _scorings(database: Database, session_ids: Sequence[str]) -> Iterator[Row]:
    for one in _in_order(list_scorings(database, Wanted(session_ids=session_ids)), session_ids):
        yield {name: getattr(one, name) for name in _SCORING_COLUMNS}


def _in_order(found: Sequence[Any], session_ids: Sequence[str]) -> list[Any]:
    place = {session_id: number for number, session_id in enumerate(session_ids)}
    return sorted(found, key=lambda one: place[one.session_id])


_TYPES: Final[dict[str, ColumnType]] = {
    **dict.fromkeys(
        ("tool_names", "agents", "models", "providers", "tags", "link_ids"),
        "texts",
    ),
    **dict.fromkeys(
        (
            "number",
            "agent_version",
            "llm_call_count",
            "llm_error_count",
            "tool_call_count",
            "tool_error_count",
            "node_count",
            "input_tokens",
            "output_tokens",
            "cached_input_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
            "index",
            "evaluator_version",
            "attempts",
        ),
        "int",
    ),
    **dict.fromkeys(("score", "min_score", "max_score", "target_score", "duration_seconds"), "float"),
    **dict.fromkeys(("complete", "inferred", "passed", "retryable"), "bool"),
    **dict.fromkeys(("started_at", "ended_at", "created_at"), "time"),
    **dict.fromkeys(("cost", "recorded_cost"), "money"),
    **dict.fromkeys(("inputs", "outputs", "metadata", "attributes", "params", "evidence"), "json"),
}


def _columns(names: Iterable[str]) -> dict[str, ColumnType]:
    return {name: _TYPES.get(name, "text") for name in names}


_SESSION_COLUMNS: Final = _columns(Session.model_fields)
_NODE_COLUMNS: Final = _columns(("session_id", *Node.model_fields))
_EVALUATION_COLUMNS: Final = _columns(name for name in Evaluation.__slots__ if name != "params_digest")
_SCORING_COLUMNS: Final = _columns(name for name in Scoring.__slots__ if name != "params_digest")

TABLES: Final[Mapping[What, Table]] = {
    "sessions": Table(_SESSION_COLUMNS, _sessions),
    "nodes": Table(_NODE_COLUMNS, _nodes),
    "evaluations": Table(_EVALUATION_COLUMNS, _evaluations),
    "scorings": Table(_SCORING_COLUMNS, _scorings),
}
