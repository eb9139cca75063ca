"""Column types: the same text one by one and by the column, and text that sorts as its values do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from sqlalchemy.dialects import sqlite

from rejudge.store.types import UtcDateTime

SQLITE = sqlite.dialect()
TIMES = some.datetimes(
    min_value=datetime(2, 1, 1),
    max_value=datetime(9998, 12, 31),
    timezones=some.builds(timezone, some.timedeltas(timedelta(hours=-23), timedelta(hours=23))),
)


@given(times=some.lists(some.none() | TIMES))
def test_a_column_of_times_is_bound_as_each_of_them(times: list[Any]) -> None:
    kind = UtcDateTime()
    assert kind.bind_column(times, SQLITE) == [kind.process_bind_param(time, SQLITE) for time in times]


@given(first=TIMES, second=TIMES)
def test_the_text_of_times_sorts_as_they_do(first: datetime, second: datetime) -> None:
    texts = UtcDateTime().bind_column([first, second], SQLITE)
    assert (texts[0] < texts[1], texts[0] == texts[1]) == (first < second, first == second)


@given(time=TIMES)
def test_a_time_comes_back_as_it_was_in_utc(time: datetime) -> None:
    kind = UtcDateTime()
    back = kind.process_result_value(kind.process_bind_param(time, SQLITE), SQLITE)
    assert back == time
    assert back is not None and back.tzinfo is UTC


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="without a zone"):
        UtcDateTime().bind_column([datetime(2026, 1, 1)], SQLITE)
