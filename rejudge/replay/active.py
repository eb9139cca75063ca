"""Which replay, if any, decides on the calls made here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from rejudge.replay.answers import Replaying

URL_VARIABLE: Final = "REJUDGE_TAPE_URL"
"""Tells a command agent whom to ask."""

_here: ContextVar[Replaying | None] = ContextVar("rejudge_replaying", default=None)


class _Process:
    """What holds for the whole process: threads that an agent starts do not inherit context variables."""

    replaying: Replaying | None = None
    root: Span | None = None
    looked_outside: bool = False


def current_replay() -> Replaying | None:
    """Who decides on the calls made here; None: nobody, calls are simply made.

    A process that was started as a command agent is told by ``REJUDGE_TAPE_URL`` whom to ask.
    """
    found = _here.get()
    if found is not None:
        return found
    if not _Process.looked_outside:
        _Process.looked_outside = True
        if _Process.replaying is None and URL_VARIABLE in os.environ:
            from rejudge.replay.remote import replaying_from_environment

            _Process.replaying = replaying_from_environment()
    return _Process.replaying


@contextmanager
def deciding(replaying: Replaying) -> Iterator[None]:
    """Let it decide on the calls made in this context: tasks started here, not new threads."""
    token = _here.set(replaying)
    try:
        yield
    finally:
        _here.reset(token)


def decide_for_process(replaying: Replaying, root: Span | None = None) -> None:
    """Let it decide on every call of this process, for good.

    Args:
        root: Parent of the spans of calls that have no span above them.
    """
    _Process.replaying, _Process.root = replaying, root


def has_root() -> bool:
    """Whether this process has a span for the whole run already."""
    return _Process.root is not None


def parent_context() -> Context | None:
    """The context for a new span: None means the current one."""
    root = _Process.root
    if root is None or trace.get_current_span().get_span_context().is_valid:
        return None
    return trace.set_span_in_context(root)
