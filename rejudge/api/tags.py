"""Tags as they are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rejudge.errors import UsageError

_LONGEST: Final = 255


def checked_tags(given: str | Sequence[str]) -> tuple[str, ...]:
    """One tag or several, each of them one that can be read and typed again.

    Raises:
        UsageError: For a tag that is empty, very long, or holds what cannot be seen.
    """
    tags = (given,) if isinstance(given, str) else tuple(given)
    for tag in tags:
        if not tag.strip() or not tag.isprintable() or len(tag) > _LONGEST:
            raise UsageError(
                f"tag {tag[:_LONGEST]!r} is not allowed", mend=f"use 1-{_LONGEST} characters that can be seen"
            )
    return tags
