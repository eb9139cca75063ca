"""Scoring one answer against what was expected, offline or by a judge, through whichever library does it."""

from rejudge.evaluators.providers.case import Case, CaseResult, Mode
from rejudge.evaluators.providers.comparing import compare_case, compare_case_sync
from rejudge.evaluators.providers.provider import Provider
from rejudge.evaluators.providers.resolving import SHORT_NAMES, resolve_provider

__all__ = [
    "SHORT_NAMES",
    "Case",
    "CaseResult",
    "Mode",
    "Provider",
    "compare_case",
    "compare_case_sync",
    "resolve_provider",
]
