"""Static answers: the first case whose arguments match."""

from __future__ import annotations

from rejudge.models.canonical import JsonValue, canonical_bytes
from rejudge.models.policy import StaticCase, StaticPolicy


def static_case(policy: StaticPolicy, arguments: JsonValue) -> StaticCase | None:
    """The first case whose arguments match; None where none does."""
    return next((case for case in policy.cases if _matches(case, arguments)), None)


def _matches(case: StaticCase, arguments: JsonValue) -> bool:
    if case.match is None:
        return True
    if case.mode == "exact":
        return canonical_bytes(case.match) == canonical_bytes(arguments)
    return _contains(arguments, case.match)


def _contains(whole: JsonValue, part: JsonValue) -> bool:
    """Whether all that `part` says is in `whole`, at any depth; a list holds its items in any order."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and _contains(whole[key], value) for key, value in part.items()
        )
    if isinstance(part, list):
        return isinstance(whole, list) and all(any(_contains(item, wanted) for item in whole) for wanted in part)
    if isinstance(part, bool) or isinstance(whole, bool):
        return whole is part
    return bool(whole == part)
