"""Garbage collection put off while many objects are made at once.

Decoding makes some hundred short-lived objects a span, and none of them is in a cycle: the collector would walk over
them again and again, and find nothing, for as much time as the decoding itself takes.
"""

from __future__ import annotations

import gc


class CollectingLater:
    """A context in which nothing is collected; what was on before is on again afterwards. May be nested."""

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()
