"""What was told of a whole session, over what could be read out of its spans.

Containers that hold sessions put it into the resource of their spans, and so does our own export. It comes from
outside like everything else in a trace: what does not fit is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rejudge.otel.span import STATED, Attributes

_STATUSES: Final = ("completed", "failed", "in_progress", "timed_out", "crashed", "canceled")


def take_stated(resource: Attributes) -> dict[str, Any]:
    """The facts of a session that a resource states, taken out of it."""
    stated = resource.pop(STATED, None)
    if not isinstance(stated, Mapping):
        return {}
    return {name: stated[name] for name, fits in _FITS.items() if name in stated and fits(stated[name])}


def _is_text(value: object) -> bool:
    return value is None or (isinstance(value, str) and bool(value))


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "status": lambda value: value in _STATUSES,
    "name": _is_text,
    "error": _is_text,
    "framework": _is_text,
    "user_id": _is_text,
    "inputs": lambda _: True,
    "outputs": lambda _: True,
    "metadata": lambda value: isinstance(value, dict),
}
