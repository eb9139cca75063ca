"""Small cohorts, written as two columns: what each session scored before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rejudge.compare import compare
from rejudge.models.comparison import Comparison, Member, Observation, Run

Value = bool | float | str | None


def member(index: int, *, trials: int = 1, cluster: str | None = None, **run: Any) -> Member:
    """The index-th member with its replays."""
    runs = tuple(Run(trial=trial, session_id=f"r{index}t{trial}", **run) for trial in range(1, trials + 1))
    return Member(id=f"s{index}", number=index + 1, cluster=cluster, runs=runs)


def row(index: int, side: str, value: Value, *, trial: int = 1, **fields: Any) -> Observation:
    """One row of the index-th member: its type follows from the value; None is unscored."""
    facts: dict[str, Any] = {
        "member": f"s{index}",
        "side": side,
        "trial": trial,
        "evaluator": "check",
        "version": 1,
        "name": "result",
        "session_id": f"s{index}" if side == "baseline" else f"r{index}t{trial}",
        "evaluation_id": f"e-{side}-{index}-{trial}",
    }
    return Observation(**(facts | _typed(value) | fields))


def _typed(value: Value) -> dict[str, Any]:
    if value is None:
        return {"data_type": "unscored", "unscored": "no output"}
    if isinstance(value, bool):
        return {"data_type": "bool", "score": value}
    if isinstance(value, str):
        return {"data_type": "str", "value": value}
    return {"data_type": "float", "score": value}


def rows(baseline: Sequence[Value], replay: Sequence[Value], **fields: Any) -> list[Observation]:
    """Both columns as rows; fields apply to all."""
    before = [row(index, "baseline", value, **fields) for index, value in enumerate(baseline)]
    return before + [row(index, "replay", value, **fields) for index, value in enumerate(replay)]


def compared(
    baseline: Sequence[Value],
    replay: Sequence[Value],
    *,
    clusters: Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Comparison:
    """Both columns compared as one metric."""
    members = [member(index, cluster=None if clusters is None else clusters[index]) for index in range(len(baseline))]
    return compare(rows(baseline, replay, **fields), members, **(options or {}))
