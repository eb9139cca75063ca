"""JSON pointers (RFC 6901) into recorded payloads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_POINTER: Final = re.compile(r"(?:/(?:[^/~]|~[01])*)*", re.DOTALL)
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")


class Absent(LookupError):
    """The pointer leads nowhere in this value."""


def check_pointers(name: str, pointers: Iterable[object]) -> None:
    """Nothing where all are JSON pointers.

    Raises:
        ValueError: With the parameter's name and the first that is none.
    """
    for pointer in pointers:
        if not isinstance(pointer, str) or not _POINTER.fullmatch(pointer):
            raise ValueError(
                f"{name}: {pointer!r} is no JSON pointer; write '' for the whole or '/key/0/key', "
                "with '~' as '~0' and '/' as '~1' (RFC 6901)"
            )


def resolve(value: object, pointer: str) -> object:
    """What a pointer leads to.

    Raises:
        Absent: Where it leads nowhere.
    """
    for token in pointer.split("/")[1:]:
        value = _step(value, token.replace("~1", "/").replace("~0", "~"))
    return value


def resolves(value: object, pointer: str) -> bool:
    """Whether a pointer leads anywhere; a null is somewhere."""
    try:
        resolve(value, pointer)
    except Absent:
        return False
    return True


def _step(value: object, token: str) -> object:
    if isinstance(value, dict) and token in value:
        return value[token]
    if isinstance(value, list) and _INDEX.fullmatch(token) and len(token) < 10 and int(token) < len(value):
        return value[int(token)]
    raise Absent(token)
