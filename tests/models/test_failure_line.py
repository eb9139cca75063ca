"""Which line of a stored error says what happened."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable

import pytest
from pydantic import BaseModel

from rejudge.models.failure_line import failure_line


class Order(BaseModel):
    number: int
    total: float


def invalid() -> None:
    Order.model_validate({"number": "x"})


def several_lines() -> None:
    raise ValueError("no answer\n  from the backend\nsee its log")


def chained() -> None:
    try:
        several_lines()
    except ValueError as error:
        raise KeyError("order") from error


def grouped() -> None:
    async def wait() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(several_lines))

    asyncio.run(wait())


def noted() -> None:
    error = TypeError("a word is no number")
    error.add_note("in session 7")
    raise error


def silent() -> None:
    raise LookupError


CASES = [
    (invalid, "ValidationError: 2 validation errors for Order number Input should be a valid integer"),
    (several_lines, "ValueError: no answer from the backend see its log"),
    (chained, "KeyError: 'order'"),
    (grouped, "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)"),
    (noted, "TypeError: a word is no number in session 7"),
    (silent, "LookupError"),
]


@pytest.mark.parametrize(("fails", "line"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_the_exception_is_told_with_its_message_on_one_line(fails: Callable[[], None], line: str) -> None:
    with pytest.raises(Exception) as raised:
        fails()
    shown = failure_line("".join(traceback.format_exception(raised.value)))
    assert shown is not None and line in shown and "\n" not in shown
    assert shown.split(":")[0].rpartition(".")[2] == line.split(":")[0]


def test_a_sentence_stands_for_itself() -> None:
    assert failure_line("its process ended: SIGSEGV\nthe last it printed:\nTraceback") == "its process ended: SIGSEGV"


def test_a_long_message_is_cut_at_its_end() -> None:
    shown = failure_line(f"Traceback (most recent call last):\n  File x\nValueError: first\n{'y' * 9000}")
    assert shown is not None and shown.startswith("ValueError: first yyy") and len(shown) == 300


@pytest.mark.parametrize("nothing", [None, "", " \n"])
def test_no_error_has_no_line(nothing: str | None) -> None:
    assert failure_line(nothing) is None
