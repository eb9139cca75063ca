"""What could not be imported, and why: a row for the user, never an abort."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Refusal:
    """One thing that was not imported. What stood beside it was."""

    path: str
    """The file as it was named; ``-`` for standard input; empty for a request body."""
    reason: str
    """What is wrong with it, in one sentence."""
    line: int | None = None
    """Counted from 1, in files of lines."""
    byte: int | None = None
    """Offset in the decompressed content, in files that have no lines."""
    span: str | None = None
    """``trace:span`` as far as it could be read."""

    def __str__(self) -> str:
        where = self.path
        if self.line is not None:
            where += f":{self.line}"
        elif self.byte is not None:
            where += f" at byte {self.byte}"
        if self.span is not None:
            where += f" span {self.span}"
        return f"{where}: {self.reason}"


class Malformed(ValueError):
    """Raised inside a decoder for one span or document that cannot be read; becomes a `Refusal`."""

    def __init__(self, reason: str, *, span: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
