"""What an evaluator may return, narrowed in one place, and what its exceptions mean."""

from __future__ import annotations

import math
import re
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import orjson
from pydantic import ValidationError

from rejudge.errors import EvaluationError, MissingInput, NotSupported
from rejudge.models.evaluation import EvaluationResult, ScoringStatus

ERROR_LIMIT: Final = 8 * 1024
"""Characters of error text kept on a row."""

RESULTS_LIMIT: Final = 1024 * 1024
"""Bytes of JSON that one scoring's results may take together."""

STORED_FOLDER: Final = "rejudge-evaluator-"
"""How the made-up folder that a stored script is compiled under begins; people do not see it."""

_STORED: Final = re.compile(rf"{STORED_FOLDER}[0-9a-f]+/|rejudge_evaluator_[0-9a-f]{{16}}\.")
_OURS: Final = str(Path(__file__).parent)


class InvalidResult(Exception):
    """An evaluator returned what the contract does not know."""


def normalised(returned: object, name: str) -> list[EvaluationResult]:
    """The results in what an evaluator returned.

    Args:
        returned: An `EvaluationResult`, a list of them, or a bare bool, finite number or string.
        name: What a bare result is called.

    Raises:
        InvalidResult: For anything else, an empty list, or two results of one name.
    """
    if isinstance(returned, EvaluationResult):
        return [returned]
    if isinstance(returned, (list, tuple)):
        return _distinct(returned)
    bare = _scalar(returned)
    if bare is None:
        raise InvalidResult(
            f"it returned {_described(returned)}; return an EvaluationResult, a list of them, or a bool, "
            "a finite number or a string"
        )
    return [EvaluationResult(bare, name=name)]


def _distinct(returned: list[Any] | tuple[Any, ...]) -> list[EvaluationResult]:
    if not returned:
        raise InvalidResult("it returned an empty list; where there is no score, return a result with unscored=…")
    seen: set[str] = set()
    for position, result in enumerate(returned):
        if not isinstance(result, EvaluationResult):
            raise InvalidResult(f"item {position} of the returned list is {_described(result)}, not a result")
        if result.name in seen:
            raise InvalidResult(f"it returned two results named {result.name!r}")
        seen.add(result.name)
    return list(returned)


def _scalar(value: object) -> bool | int | float | str | None:
    item = getattr(value, "item", None)
    if callable(item) and type(value).__module__.partition(".")[0] == "numpy" and getattr(value, "ndim", 1) == 0:
        value = item()
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidResult(f"it returned {value}, which is no score; return a result with unscored=…")
    return value if isinstance(value, (bool, int, float, str)) else None


def _described(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def json_of(result: EvaluationResult) -> dict[str, Any]:
    """The fields that are set."""
    return {name: value for name, value in result.__dict__.items() if value is not None}


def failure(error: BaseException) -> tuple[ScoringStatus, str, bool, float | None]:
    """Status, text, whether another attempt may help, and how long to wait before it."""
    if isinstance(error, MissingInput):
        return "missing_input", _message(error), False, None
    if isinstance(error, NotSupported):
        return "not_supported", _message(error), False, None
    if isinstance(error, EvaluationError):
        return "failed", _message(error), bool(error.retryable), _seconds(error.retry_after)
    if isinstance(error, InvalidResult):
        return "invalid_result", _message(error), False, None
    if isinstance(error, ValidationError) and error.title == EvaluationResult.__name__:
        return "invalid_result", bounded(traceback_of(error)), False, None
    return "failed", bounded(traceback_of(error)), False, None


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # an exception class of the user's own, with a broken __str__
        text = ""
    return bounded(text or type(error).__name__)


def _seconds(value: object) -> float | None:
    try:
        seconds = float(value)  # type: ignore[arg-type]  # whatever the evaluator gave
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def traceback_of(error: BaseException) -> str:
    """The traceback from the evaluator's own first line on."""
    try:
        shown = traceback.TracebackException(
            type(error), error, _without_ours(error.__traceback__), compact=True, max_group_width=5
        )
        return without_stored_folder("".join(shown.format()).rstrip())
    except Exception:  # never lose a scoring to its own error message
        return type(error).__name__


def without_stored_folder(text: str) -> str:
    """The text with stored scripts' files and classes under their own names."""
    return _STORED.sub("", text)


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_OURS):
        trace = trace.tb_next
    return trace


def bounded(text: str, limit: int = ERROR_LIMIT) -> str:
    """The text, its middle left out where it is too long."""
    if len(text) <= limit:
        return text
    half = (limit - 40) // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def encoded(frame: Any) -> bytes:
    """JSON of a frame, whatever text is in it: half surrogate pairs and NUL, which no database takes, go."""
    try:
        text = orjson.dumps(frame, default=str)
    except TypeError:
        return orjson.dumps(_cleaned(frame), default=str)
    return orjson.dumps(_cleaned(frame), default=str) if b"\\u0000" in text else text


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_cleaned(str(key)): _cleaned(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_cleaned(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return float(value)
    return value
