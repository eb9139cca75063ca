"""What a user may say about an import."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Redaction:
    """What must never reach a row."""

    attributes: tuple[str, ...] = ()
    """Globs over attribute names (``user.*``, ``gen_ai.input.messages``): their values are replaced."""
    patterns: tuple[str, ...] = ()
    """Regular expressions: every match in any recorded text is replaced."""


@dataclass(frozen=True, slots=True)
class Options:
    """How spans become sessions."""

    join_on: str | None = None
    """A span or resource attribute whose value is the session id, instead of the conventions' own."""
    redact: Redaction | None = None
    content: bool = True
    """False: no prompts, answers, arguments or results are kept, and what was kept of the spans has none either."""
    stitch: bool = False
    """True: traces without a session id are joined where one's first request repeats another's whole history."""
    price: bool = True
    """False: no cost is estimated where the trace has none."""
