"""``name@3`` and ``name@latest``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rejudge.errors import UsageError

_REFERENCE = re.compile(r"(?P<name>[^@\s]+)(?:@(?P<version>latest|[1-9][0-9]{0,8}))?")


@dataclass(frozen=True, slots=True)
class Reference:
    """A name and a version number; None stands for the latest."""

    name: str
    number: int | None


def parse_reference(text: str, *, kind: str, bare: bool) -> Reference:
    """The parts of a reference.

    Args:
        text: ``name@number``, ``name@latest``, or a bare ``name`` where allowed.
        kind: What it refers to, for the message.
        bare: Whether a name alone may stand for its latest version.

    Raises:
        UsageError: For any other form, with the right one.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no {kind} reference", mend="write NAME@NUMBER or NAME@latest")
    version = match["version"]
    if version is None and not bare:
        raise UsageError(
            f"{kind} {text!r} names no version", mend=f"write {match['name']}@latest, or {match['name']}@NUMBER"
        )
    return Reference(match["name"], int(version) if version not in (None, "latest") else None)
