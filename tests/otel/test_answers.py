"""Every recorded run gives what really happened in it: the whole table of answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from rejudge.otel import Recording
from tests.otel.traces import ANSWERS, DATA, answer_id, sessions_of

SUMMED = ("llm_call_count", "llm_error_count", "tool_call_count", "tool_error_count", "input_tokens", "output_tokens")
NAMES = {
    "llm_call_count": "llm_calls",
    "llm_error_count": "llm_errors",
    "tool_call_count": "tool_calls",
    "tool_error_count": "tool_errors",
}


@pytest.mark.parametrize("answer", ANSWERS, ids=answer_id)
def test_a_recorded_run_gives_its_counts(answer: dict[str, Any]) -> None:
    recordings = sessions_of(*answer["files"])

    wrong = difference(recordings, answer)

    assert not wrong, "\n".join([f"{answer_id(answer)}:", *wrong])


def difference(recordings: list[Recording], answer: dict[str, Any]) -> list[str]:
    sessions = sorted((recording.view.session for recording in recordings), key=lambda one: str(one.started_at))
    got: dict[str, Any] = {"sessions": len(sessions)}
    for name in SUMMED:
        got[NAMES.get(name, name)] = total(getattr(session, name) for session in sessions)
    got["models"] = sorted({model for session in sessions for model in session.models})
    got["tool_names"] = [name for session in sessions for name in session.tool_names]
    want = {name: answer[name] for name in got}
    want["models"] = sorted(answer["models"])
    if len(sessions) > 1:  # the table's order is that of one run; several have no common one
        got["tool_names"], want["tool_names"] = sorted(got["tool_names"]), sorted(want["tool_names"])
    wrong = [f"  {name}: got {got[name]!r}, right is {want[name]!r}" for name in got if got[name] != want[name]]
    missing = set(answer["session_ids"]) - {session.external_id for session in sessions}
    return wrong + [f"  no session {identity!r}" for identity in missing]


def total(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def test_every_file_of_the_folder_is_in_the_table() -> None:
    listed = {name for answer in ANSWERS for name in answer["files"]}
    found = {
        str(path.relative_to(DATA))
        for path in DATA.rglob("*")
        if path.is_file() and path.name[:1] not in "I." and path.name != "answers.json"
    }

    assert found - listed == set()
