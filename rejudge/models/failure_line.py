"""The one line of a stored error that says what happened."""

from __future__ import annotations

import re
from typing import Final

from rejudge.models.safe_text import one_line

_LIMIT: Final = 300
_HEAD: Final = "Traceback (most recent call last):"
_GROUP_HEAD: Final = f"+ Exception Group {_HEAD}"
_EXCEPTION: Final = re.compile(r"[^\W\d][\w.]*(: .*|:?$)")


def failure_line(error: str | None) -> str | None:
    """What a traceback ends with, its message on one line; of any other text the first line.

    A message may have many lines, and the last of them says least.

    Example:
        >>> failure_line('Traceback (most recent call last):\\n  File "a.py", line 1\\nValueError: 2 wrong\\n a\\n b')
        'ValueError: 2 wrong a b'
    """
    lines = (error or "").strip().splitlines()
    if not lines:
        return None
    if lines[0] == _GROUP_HEAD:
        inner = (line.strip().removeprefix("|").removeprefix(" ") for line in lines[1:])
        return _cut(next((line for line in inner if _EXCEPTION.match(line)), lines[-1]))
    if lines[0] != _HEAD:
        return _cut(lines[0])
    # Causes come first, each with a head of its own; what could not be handled comes last.
    after = len(lines) - lines[::-1].index(_HEAD)
    begins = next((at for at in range(after, len(lines)) if _EXCEPTION.match(lines[at])), len(lines) - 1)
    return _cut(" ".join(lines[begins:]))


def _cut(text: str) -> str:
    return one_line(text, limit=_LIMIT)
